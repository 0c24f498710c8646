# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2.4", "pandas>=2.3,<3", "spotify-confidence==4.1.0"]
# ///
"""Program that runs spotify-confidence, which does not support pandas 3 yet.

Given the name of a test and a file of arrays, one row an arm: which comparison and look it is of, whether
it is the control, visitors, the sum of a metric and of its squares. Prints processor seconds, p values and
differences, as JSON, comparisons first and looks within.
"""

import json
import sys
import time
import warnings

import numpy as np
import pandas as pd
from spotify_confidence import StudentsTTest, ZTest

TESTS = {"z-test": ZTest, "t-test": StudentsTTest, "looks": ZTest}


def main(name: str, path: str) -> None:
    """Run one test over all comparisons of the file, in one call."""
    with np.load(path) as arrays:
        frame = pd.DataFrame({column: arrays[column] for column in arrays.files})
    frame["arm"] = np.where(frame.pop("is_control"), "control", "treatment")
    is_sequential = name == "looks"
    columns = ["comparison", "look"] if is_sequential else ["comparison"]
    start = time.process_time()
    test = TESTS[name](
        frame,
        numerator_column="sum",
        numerator_sum_squares_column="squares",
        denominator_column="n",
        categorical_group_columns=["comparison", "arm"],
        ordinal_group_column="look" if is_sequential else None,
    )
    found = test.difference(
        "control",
        "treatment",
        absolute=is_sequential,
        groupby=columns,
        final_expected_sample_size_column="planned" if is_sequential else None,
    )
    seconds = time.process_time() - start
    found = found.sort_values(columns)
    print(
        json.dumps(
            {"seconds": seconds, "p": found["p-value"].tolist(), "difference": found["difference"].tolist()}
        )
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
