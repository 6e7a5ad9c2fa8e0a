"""How often the server is killed."""


def pytest_addoption(parser):
    parser.addoption("--count", type=int, default=10, help="how often the server is killed")
    parser.addoption("--seed", type=int, default=200, help="of the moments at which it is killed")
