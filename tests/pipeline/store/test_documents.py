import json

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.store.documents import document_from, document_of, value_from, value_of
from tests.builders import a_project, an_experiment


def test_a_record_survives_its_document_and_json() -> None:
    experiment, project = an_experiment(status="running"), a_project()
    assert value_of(json.loads(json.dumps(document_of(experiment))), Experiment) == experiment
    assert value_of(json.loads(json.dumps(document_of(project))), Project) == project


def test_equal_texts_share_one_record_and_another_text_has_its_own() -> None:
    experiment = an_experiment(status="running")
    text, renamed = (json.dumps({**document_of(experiment), "name": name}) for name in ("Banner", "Footer"))
    assert value_from(text, Experiment) == value_of(document_from(text), Experiment)
    assert value_from(text, Experiment) is value_from("".join(text), Experiment)
    assert (value_from(text, Experiment).name, value_from(renamed, Experiment).name) == ("Banner", "Footer")
