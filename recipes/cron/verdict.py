"""Exit status of an experiment's recommendation, for scripts: verdict.py PROJECT EXPERIMENT.

Reads the address of the service from SERVICE_URL and a key with the scope results:read from API_KEY.
Needs nothing but Python.
"""

import json
import os
import sys
import urllib.request

EXIT_STATUSES = {
    "ship": 0,
    "keep_running": 10,
    "insufficient_data": 10,
    "review": 11,
    "rollback": 12,
    "fix_data": 13,
}


def main(project: str, experiment: str) -> int:
    """Print the headline of an experiment, and return the exit status of its recommendation."""
    service = os.environ.get("SERVICE_URL", "http://127.0.0.1:8000")
    request = urllib.request.Request(
        f"{service}/api/v1/projects/{project}/experiments/{experiment}/results/summary",
        headers={"Authorization": f"Bearer {os.environ['API_KEY']}"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        decision = json.load(answer)["data"]["decision_summary"]
    print(f"{decision['recommendation']}: {decision['headline']}")
    return EXIT_STATUSES[decision["recommendation"]]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
