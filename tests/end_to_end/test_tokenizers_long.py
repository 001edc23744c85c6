"""The agreement of test_tokenizers.py on 20 MB."""
import unittest

import test_tokenizers


class LongAgreement(test_tokenizers.Agreement):
    SIZE = 20_000_000


if __name__ == "__main__":
    unittest.main()
