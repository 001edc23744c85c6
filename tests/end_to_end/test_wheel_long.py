"""tools/wheel: `pip install` brings the torch that the wheel asks for, of PyPI (2.6 GB), and finds nothing amiss."""
import unittest

import test_wheel


class WheelWithTorch(test_wheel.Wheel):
    """The same, on that torch."""

    @classmethod
    def install(cls):
        cls.pip("install", cls.wheel)
        cls.checked = cls.pip("check").stdout
        cls.listed = cls.pip("list").stdout

    def test_pip_brought_torch(self):
        self.assertEqual(self.checked, "No broken requirements found.\n")
        self.assertRegex(self.listed, rf"(?m)^torch +{test_wheel.VERSION}$")


if __name__ == "__main__":
    unittest.main()
