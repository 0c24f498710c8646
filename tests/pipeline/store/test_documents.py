import json

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.store.documents import document_of, value_of
from tests.builders import a_project, an_experiment


def test_a_record_survives_its_document_and_json() -> None:
    experiment, project = an_experiment(status="running"), a_project()
    assert value_of(json.loads(json.dumps(document_of(experiment))), Experiment) == experiment
    assert value_of(json.loads(json.dumps(document_of(project))), Project) == project
