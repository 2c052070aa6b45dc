"""A configuration file: the command's defaults, with every misspelling refused."""

import pytest
from command_line import read_raw_manifest


@pytest.fixture
def config(tmp_path):
    """Write mine.toml and return its options."""

    def write(text):
        content = text if isinstance(text, bytes) else text.encode()
        (tmp_path / "mine.toml").write_bytes(content)
        return "--config", "mine.toml"

    return write


@pytest.fixture
def run(invoke, clouds, tmp_path):
    """A sweep's manifest, with the small data set's options and these."""

    def sweep(*arguments):
        result = invoke("sweep", "--data-dir", clouds, "--out", "run", *arguments)
        assert result.exit_code == 0, result.output
        return read_raw_manifest(tmp_path / "run")

    return sweep


@pytest.fixture
def refuse(refusal, clouds):
    """The refusal of a sweep that would be fine but for these options."""

    def sweep(*arguments, exit_code=1):
        return refusal("sweep", "--data-dir", clouds, "--out", "run", *arguments, exit_code=exit_code)

    return sweep


def test_keys_at_the_top_and_in_the_section(run, config):
    manifest = run(*config("seed = 7\nridge = 0.25\n\n[sweep]\nrepeats = 2\nfanout = '1-2'\n"))
    assert (manifest["run"]["seed"], manifest["run"]["ridge"]) == (7, 0.25)
    assert manifest["experiments"]["sweep"] == {"repeats": 2, "n_hidden": [9, 18]}


def test_the_section_wins_over_the_top(run, config):
    manifest = run(*config("seed = 7\nrepeats = 9\nfanout = 1\n[sweep]\nrepeats = 2\n"))
    assert manifest["run"]["seed"] == 7
    assert manifest["experiments"]["sweep"]["repeats"] == 2


def test_flags_win_over_the_file(run, config):
    text = "fanout = '1-4'\nrepeats = 9\nseed = 7\ndesign = 'independent'\n"
    manifest = run("--fanout", "2", "--seed", "1", *config(text), "--repeats", "1")
    assert manifest["experiments"]["sweep"] == {"repeats": 1, "n_hidden": [18]}
    assert (manifest["run"]["seed"], manifest["run"]["design"]) == (1, "independent")


def test_a_flag_that_is_the_default_wins_too(run, config):
    manifest = run(*config("seed = 7\nfanout = 1\nrepeats = 1"), "--seed", "0")
    assert manifest["run"]["seed"] == 0


def test_another_commands_section_does_not_count(run, config):
    manifest = run(*config("[sweep]\nfanout = 1\nrepeats = 1\n[ensemble]\nseed = 7\nrepeats = 5\n"))
    assert manifest["run"]["seed"] == 0
    assert manifest["experiments"]["sweep"]["repeats"] == 1


def test_words_may_be_joined_by_dashes(run, config):
    manifest = run(
        *config("weight-range = 0.75\n[sweep]\nfanout = 1\nrepeats = 1\ninput-scale = 0.005\n")
    )
    assert (manifest["run"]["weight_range"], manifest["run"]["input_scale"]) == (0.75, 0.005)


def test_every_option_can_be_set(run, invoke, config, clouds, tmp_path):
    text = f"""
        data_dir = '{clouds}'
        dataset = "mine"
        seed = 3
        activation = "logistic"
        weight_range = 2.0
        input_scale = 0.5
        ridge = 1e-3
        priors = "frequencies"
        precision = "double"
        design = "independent"
        jobs = 1
        threads = 1
        chunk = 100
        out = "there"
        quiet = true
        [sweep]
        hidden = [5, 10]
        repeats = 2
    """
    result = invoke("sweep", *config(text))
    assert (result.exit_code, result.output) == (0, "")
    manifest = read_raw_manifest(tmp_path / "there")
    made = {key: value for key, value in manifest["run"].items() if key != "sha256"}
    assert made == {
        "dataset": "mine",
        "design": "independent",
        "seed": 3,
        "activation": "logistic",
        "weight_range": 2.0,
        "input_scale": 0.5,
        "ridge": 1e-3,
        "priors": "frequencies",
        "precision": "double",
    }
    assert manifest["experiments"]["sweep"] == {"repeats": 2, "n_hidden": [5, 10]}


@pytest.mark.parametrize("value", ["'1-2,4'", "[1, 2, 4]", "['1-2', 4]", "[4, 2, 1, 1]"])
def test_lists_of_numbers(run, config, value):
    manifest = run(*config(f"fanout = {value}\nrepeats = 1"))
    assert manifest["experiments"]["sweep"]["n_hidden"] == [9, 18, 36]


def test_a_flag_for_sizes_wins_over_the_files_other_kind(run, config):
    assert run(*config("hidden = [5]\nrepeats = 1"), "--fanout", "2")["experiments"]["sweep"] == {
        "repeats": 1,
        "n_hidden": [18],
    }
    manifest = run(*config("fanout = 2\nrepeats = 1"), "--hidden", "5")
    assert manifest["experiments"]["sweep"]["n_hidden"] == [5, 18]


def test_a_file_with_both_kinds_of_sizes(refuse, config):
    message = refuse(*config("fanout = 1\nhidden = 9"), exit_code=2)
    assert message == "--fanout and --hidden exclude each other: give one of them."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fan_out = 3", "unknown key 'fan_out'. Did you mean 'fanout'?"),
        ("[sweep]\nfan_out = 3", "unknown key 'fan_out' in [sweep]. Did you mean 'fanout'?"),
        ("repeat = 3", "unknown key 'repeat'. Did you mean 'repeats'?"),
        ("[sweep]\nRidge = 3", "unknown key 'Ridge' in [sweep]. Did you mean 'ridge'?"),
        ("[swep]\nfanout = 3", "unknown key 'swep'. Did you mean 'sweep'?"),
        ("[sweep]\ncombine = 'mean'", "unknown key 'combine' in [sweep]. "),
        ("[ensemble]\nhiden = 3", "unknown key 'hiden' in [ensemble]. "),
        ("dry_run = true", "unknown key 'dry_run'. "),
        ("config = 'other.toml'", "unknown key 'config'. "),
        ("zebra = 1", "unknown key 'zebra'. Known: activation, "),
        ("[zebra]\nx = 1", "unknown key 'zebra'. Known: calibration, choices, compare, "),
        ("[sweep.more]\nx = 1", "unknown key 'more' in [sweep]. "),
        ("seed = ", "not a TOML file: Invalid value"),
        ("seed = 1\nseed = 2", "not a TOML file: Cannot overwrite a value"),
        (b"\xff\xfe", "not a TOML file: 'utf-8' codec can't decode byte 0xff"),
    ],
)
@pytest.mark.parametrize("flags", [[], ["--fanout", "1", "--dry-run"]])
def test_what_is_not_known_is_refused(refuse, config, tmp_path, text, message, flags):
    assert refuse(*config(text), *flags).startswith(f"mine.toml: {message}")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_a_key_named_like_a_command_is_refused(refuse, config):
    assert refuse(*config("sweep = 5\nfanout = 1\nrepeats = 1")).startswith("mine.toml: ")


def test_a_file_that_cannot_be_read(refuse):
    assert refuse("--config", "nowhere.toml").startswith("nowhere.toml: cannot be read: ")
    assert refuse("--config", ".") == ".: a folder, expected a TOML file."


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("repeats", "'many'"),
        ("repeats", "2.5"),
        ("repeats", "0"),
        ("seed", "-1"),
        ("ridge", "'much'"),
        ("activation", "'step'"),
        ("fanout", "1.5"),
        ("fanout", "[1, 'x']"),
        ("chunk", "10000000000000000000"),
        ("hidden", "10000000000000000000"),
        ("fanout", "10000000000000000000"),
        ("min_field", "10000000000000000000"),
    ],
)
def test_values_of_the_wrong_kind(refuse, config, key, value):
    message = refuse(*config(f"fanout = 1\nrepeats = 1\n[sweep]\n{key} = {value}"), exit_code=2)
    assert f"--{key.replace('_', '-')}" in message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("repeats", "true"),
        ("ridge", "true"),
        ("fanout", "true"),
        ("repeats", "1979-05-27"),
        ("repeats", "[3]"),
        ("ridge", "[1.0]"),
        ("activation", "['tanh']"),
        ("quiet", "['x']"),
        ("quiet", "'yes'"),
        ("fanout", "[]"),
        ("fanout", "[[1]]"),
        ("hidden", "[1, [2]]"),
        ("fanout", "{a = 1}"),
        ("dataset", "1979-05-27T07:32:00Z"),
        ("seed", "{}"),
        ("seed", "0x" + "f" * 5000),
        ("fanout", "inf"),
        ("repeats", "-inf"),
        ("ridge", "nan"),
        ("ridge", "1" + "0" * 400),
        ("fanout", "[1, inf]"),
        ("ridge", "[[1.0]]"),
    ],
)
def test_a_truth_value_or_list_for_something_else(refuse, config, key, value):
    message = refuse(*config(f"fanout = 1\nrepeats = 1\n[sweep]\n{key} = {value}"))
    assert message.startswith(f"mine.toml: {key} in [sweep] is ")


def test_a_list_at_the_top_for_a_command_that_takes_one_value(invoke, tmp_path):
    (tmp_path / "mine.toml").write_text("fanout = [1, 2]\ndataset = 'iris'\nridge = 0.1\n")
    assert invoke("sweep", "--config", "mine.toml", "--dry-run").exit_code == 0
    result = invoke("ensemble", "--config", "mine.toml", "--dry-run")
    assert result.exit_code == 1
    expected = "mine.toml: fanout for ensemble is [1, 2]: expected a single value."
    assert expected in result.stderr


@pytest.mark.parametrize("name", ["paper", "quick"])
def test_the_configurations_that_come_with_the_package(
    invoke, pytestconfig, tmp_path, monkeypatch, name
):
    monkeypatch.setattr("elmlda.networks.cost.measure_matmul_speed", lambda *_: 1e11)
    path = pytestconfig.rootpath / "configs" / f"{name}.toml"
    for command in ("sweep", "ensemble"):
        result = invoke(command, "--config", path, "--dry-run")
        assert result.exit_code == 0, result.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "name"),
    [("sweep", "paper"), ("timing", "quick"), ("compare", "compare"), ("choices", "choices")],
)
def test_a_configuration_of_elmldas_own_by_its_name(invoke, monkeypatch, command, name):
    monkeypatch.setattr("elmlda.networks.cost.measure_matmul_speed", lambda *_: 1e11)
    result = invoke(command, "--config", name, "--dry-run")
    assert result.exit_code == 0, result.output
    if name == "quick":
        assert "results/quick" in result.stdout


def test_an_empty_list_of_schemes(refusal, config):
    assert refusal("ensemble", *config("[ensemble]\ncombine = []")) == (
        "mine.toml: combine in [ensemble] is []: expected a list with at least one value."
    )


@pytest.mark.parametrize("command", ["tune", "shaped"])
@pytest.mark.parametrize("value", ["1e308", "1e999", "nan", "-inf"])
def test_ridges_beyond_every_range(refusal, command, value):
    message = refusal(command, "--dataset", "iris", f"--ridge={value}", exit_code=2)
    assert "--ridge" in message
    assert f"{value!r}: expected numbers up to 1e+300" in message
