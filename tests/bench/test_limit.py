"""A network between two measurements of the machine's speed."""


def test_a_network_between_two_measurements_of_speed(timed):
    assert timed.network.sizes == (6, 12, 18, 24)
    assert 0 < timed.limit_seconds < timed.seconds
    assert min(timed.speeds) > 1e6
