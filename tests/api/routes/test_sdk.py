"""The SDK's operations, as the OpenAPI document describes them."""

import pytest
from fastapi.testclient import TestClient

from api.sdk.access import SCOPE


@pytest.mark.parametrize(
    ("path", "operation_id", "body"),
    [
        ("track", "track_events", "TrackBatch"),
        ("convert", "track_conversions", "ConversionBatch"),
        ("init", "assign_visitor", "Visit"),
    ],
)
def test_an_operation_takes_either_key(client: TestClient, path: str, operation_id: str, body: str) -> None:
    described = client.get("/openapi.json").json()["paths"][f"/api/v1/sdk/{path}"]["post"]
    assert described["operationId"] == operation_id
    assert described["security"] == [{"bearer": [SCOPE]}, {"sdk_key": []}]
    schema = described["requestBody"]["content"]["application/json"]["schema"]
    assert schema == {"$ref": f"#/components/schemas/{body}"}
    assert {"200", "400", "401", "402", "403", "404", "413", "415", "422", "429", "503"} == set(
        described["responses"]
    )
