// What a command says of a series that there is not.
#pragma once

#include <string>
#include <vector>

namespace exprun {

// "'train/loss' or 'val/loss'" for "loss": the series that a name is the last part of, or the
// nearest. Empty where none is near.
std::string series_meant(const std::string& name, const std::vector<std::string>& known);

// "did you mean 'val/loss'?", or "there are train/loss, val/loss, grad_norm and 4 more": the losses
// before others. Empty where nothing is known.
std::string advice_on_series(const std::string& name, const std::vector<std::string>& known);

}  // namespace exprun
