# SPDX-License-Identifier: BSD-3-Clause
"""Arguments of `rbmbench.train`: their settings, and errors of unknown or contradictory ones."""

import numpy as np
import pytest
from core_helpers import binary_data

import rbmbench
from rbmbench.base.errors import SettingsError
from rbmbench.training.arguments import settings_from

DATA = binary_data(23, 7)
PLAIN = {"hidden": 5, "batch": 3, "iterations": 11}
CD = {"name": "cd", "options": {"k": 2}}
STAGE = {"until": 11, "estimator": CD, "update": {"name": "sgd"}, "rate": 0.1}


def settings(**arguments):
    return settings_from(arguments, {"name": "made"}, "train")


def error_of(**changes) -> str:
    with pytest.raises(SettingsError) as caught:
        rbmbench.train(DATA, **PLAIN | changes)
    return str(caught.value)


@pytest.mark.parametrize(
    ("plain", "stage"),
    [
        ({"options": {"k": 2}}, STAGE),
        ({"estimator": CD}, STAGE),
        ({"estimator": CD, "update": "ssd", "rate": 0.5}, STAGE | {"update": {"name": "ssd"}, "rate": 0.5}),
        (
            {"estimator": CD, "update": {"name": "sdcp", "options": {"inner_steps": 3}}},
            STAGE | {"update": {"name": "sdcp", "options": {"inner_steps": 3}}},
        ),
    ],
)
def test_plain_arguments_give_a_schedule_of_one_stage(plain, stage):
    arguments = {"hidden": 5, "batch": 3, "trials": 2}
    assert settings(**arguments, iterations=11, **plain) == settings(**arguments, schedule=[stage])


@pytest.mark.parametrize(
    "argument", [{"iterations": 11}, {"estimator": "pcd"}, {"rate": 0.1}, {"update": "sgd"}, {"options": {"k": 1}}]
)
def test_a_schedule_with_plain_arguments_of_a_stage_raises(argument):
    with pytest.raises(
        SettingsError, match=rf"^train: must be either a schedule, .*, got a schedule and {next(iter(argument))}"
    ):
        rbmbench.train(DATA, hidden=5, batch=3, schedule=[STAGE], **argument)


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        ({"learning_rate": 0.5}, "unknown argument 'learning_rate'; nearest: 'rate'; allowed: "),
        ({"batch_size": 7}, "unknown argument 'batch_size'; nearest: 'batch'; allowed: "),
        ({"epochs": 7}, "unknown argument 'epochs'; nearest: 'iterations'; allowed: "),
        ({"evalute_every": 7}, "unknown argument 'evalute_every'; nearest: 'evaluate_every'; allowed: "),
        ({"zzz": 7}, "unknown argument 'zzz'; allowed: "),
        ({"k": 10}, "unknown argument 'k'; it is an option of the estimator 'cd': options={'k': 10}"),
        ({"n_steps": 3}, "unknown argument 'n_steps'; it is an option of the estimator 'cd': options={'k': 3}"),
        ({"estimator": {"name": "pcd"}, "chains": 3}, "unknown argument 'chains'; it is an option of the estimator"),
        ({"estimator": "exact", "k": 10}, "unknown argument 'k'; allowed: "),
        ({"estimator": 3}, "schedule.0.estimator: must "),
        ({"estimator": CD, "options": {"k": 3}}, "options: must be part of the settings of the estimator"),
        ({"iterations": None}, "iterations: must be an integer >= 1, or a schedule must be given"),
    ],
)
def test_error_of_an_unknown_argument_names_the_nearest(arguments, start):
    message = error_of(**arguments)
    assert message.startswith(f"train: {start}")
    assert "test_likelihood'" not in message


@pytest.mark.parametrize("source", [rbmbench.datasets.load("diag"), "diag"])
def test_a_data_set_is_trained_on_its_training_rows(source):
    data = rbmbench.datasets.load("diag")
    result, expected = rbmbench.train(source, **PLAIN), rbmbench.train(data.train, **PLAIN)
    assert (result.rbm.W == expected.rbm.W).all()
    assert (result.settings.data.name, result.settings.data.options) == ("diag", {"d": 6})
    assert result.meta["data"] == data.provenance


def test_test_rows_default_to_those_of_the_data_set():
    data = rbmbench.datasets.load("shifting_bar")
    arguments = PLAIN | {"test_likelihood": True}

    def likelihoods(*rows, **more):
        curve = rbmbench.train(*rows, **arguments, **more).curve
        return curve.query("metric == 'test_log_likelihood'")["value"].tolist()

    assert likelihoods(data) == likelihoods(data.train, test=data.test)
    assert likelihoods(data) != likelihoods(data, test=data.test[:3])


@pytest.mark.parametrize(
    ("data", "message"),
    [("dig", "unknown data set 'dig'; nearest: 'diag'; "), (7, "training data: must "), (None, "training data: must ")],
)
def test_invalid_data_raise_a_one_line_error(data, message):
    with pytest.raises(rbmbench.base.errors.RbmbenchError, match=f"^{message}"):
        rbmbench.train(data, **PLAIN)


def test_numpy_numbers_equal_python_numbers():
    plain = settings(hidden=5, batch=3, iterations=11, seed=13, evaluate_at=[2, 7], estimator="cd", options={"k": 2})
    numbers = {"hidden": np.int64(5), "batch": np.uint8(3), "iterations": np.int32(11), "seed": np.uint64(13)}
    options = {"k": np.int64(2)}
    assert settings(**numbers, evaluate_at=np.array([2, 7]), estimator="cd", options=options) == plain
    chosen = {"name": "cd", "options": options}
    assert settings(**numbers, evaluate_at=(2, 7), estimator=chosen).digest() == plain.digest()
