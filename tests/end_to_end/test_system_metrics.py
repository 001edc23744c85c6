"""What the machine does is recorded beside what the training does; its GPUs are those of a library that stands in for NVIDIA's."""
import json
import unittest

from support import ExprunTest

MACHINE = {"process_cpu_percent", "process_memory_bytes", "load", "memory_available_bytes", "disk_free_bytes"}
GPU = {"utilization_percent": 97, "memory_bytes": 1 << 30, "power_watts": 612.5, "sm_clock_mhz": 1980,
       "memory_clock_mhz": 2619, "temperature_celsius": 64, "throttle_reasons": 0x24}
OLD_GPU = {"memory_bytes": 1 << 30, "temperature_celsius": 64}  # all that it can say


class SystemMetrics(ExprunTest):
    def run_with_gpus(self, **environment):
        with self.fake_driver(**environment):
            self.exprun("tiny.toml", "--new", "run.device=cpu", "metrics.system_every='0.05 s'")
        return dict(self.rows("SELECT substr(name, 8), last FROM series WHERE name LIKE 'system/%' AND run = (SELECT max(id) FROM run)"))

    def test_machine_and_gpus_from_the_start_to_the_end(self):
        values = self.run_with_gpus(FAKE_NVML_START_MS="400")  # by then steps are made
        expected = {f"gpu{i}/{name}": value for i, gpu in enumerate((GPU, OLD_GPU)) for name, value in gpu.items()}
        self.assertEqual({name: value for name, value in values.items() if name.startswith("gpu")}, expected)
        self.assertEqual(values.keys() - expected.keys(), MACHINE)
        self.assertGreater(values["process_memory_bytes"], 1 << 20)
        self.assertEqual(self.rows("SELECT min(step), max(step) FROM metrics WHERE name = 'system/load'"), [(0, 40)])
        self.assertEqual(self.rows("SELECT DISTINCT timing FROM series WHERE name LIKE 'system/%'"), [(1,)])
        environment = json.loads(self.rows("SELECT content FROM blob JOIN attempt_blob ON blob = id WHERE kind = 'environment'")[0][0])
        self.assertEqual([gpu["name"] for gpu in environment["gpus"]], ["NVIDIA Fake 80GB", "NVIDIA Old"])

    def test_only_gpus_that_the_run_may_use(self):
        self.assertFalse([name for name in self.run_with_gpus(CUDA_VISIBLE_DEVICES="") if name.startswith("gpu")])
        self.assertEqual({name for name in self.run_with_gpus(CUDA_VISIBLE_DEVICES="GPU-2222") if name.startswith("gpu")},
                         {f"gpu1/{name}" for name in OLD_GPU})

    def test_another_period_is_the_same_run(self):
        self.exprun("tiny.toml")
        self.assertIn("nothing to do", self.exprun("tiny.toml", "metrics.system_every='1 h'").err)


if __name__ == "__main__":
    unittest.main()
