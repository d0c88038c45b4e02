"""Tasks for what is installed in whatever version there is (BYD116); as in `gate_cases`."""

from typing import Final

from gates.gate_cases import HEAD, TEST, docker, env
from gates.review_cases import found, passed, script

LOCK: Final = '{"lockfileVersion": 3}\n'
PACKAGE: Final = '{"dependencies": {"left-pad": "^1.3.0"}}\n'

PINS: Final = (
    found("BYD116", "pip", docker("RUN pip install pandas")),
    found("BYD116", "one of several", docker("RUN pip install --no-cache-dir pandas==2.3.2 numpy")),
    found("BYD116", "a lower bound", docker('RUN pip3 install "pandas>=2"')),
    found("BYD116", "after other commands", docker("RUN apt-get update && pip install \\", "    requests")),
    found("BYD116", "in the JSON form", docker('RUN ["pip", "install", "pandas"]')),
    found("BYD116", "in a heredoc", docker("RUN <<EOF", "pip install pandas", "EOF")),
    found("BYD116", "python -m pip", docker("RUN python3 -m pip install --retries 3 pandas")),
    found("BYD116", "uv", docker("RUN uv pip install --system pandas")),
    found(
        "BYD116", "a repository's newest commit", docker("RUN pip install git+https://example.org/a/b.git")
    ),
    found(
        "BYD116",
        "a list without versions",
        env(docker("COPY r.txt /app/", "RUN pip install -r r.txt"), "r.txt", "pandas==2.3.2\nnumpy\n"),
    ),
    found("BYD116", "npm", docker("RUN npm install -g typescript")),
    found("BYD116", "a tag of npm", docker("RUN npm install typescript@latest @types/node@20")),
    found(
        "BYD116",
        "ranges without a lock",
        env(docker("COPY package.json /app/", "RUN npm install"), "package.json", PACKAGE),
    ),
    found("BYD116", "yarn", docker("RUN yarn add left-pad")),
    found("BYD116", "gem", docker("RUN gem install fluentd --no-document")),
    found("BYD116", "cargo", docker("RUN cargo install ripgrep --locked")),
    found("BYD116", "go", docker("RUN go install golang.org/x/tools/cmd/goimports@latest")),
    found("BYD116", "conda", docker("RUN conda install -y -c conda-forge pandas")),
    found(
        "BYD116",
        "an environment",
        env(
            docker("COPY e.yml /app/", "RUN conda env create -f e.yml && mamba install --file e.yml"),
            "e.yml",
            "dependencies:\n  - python=3.12\n  - pip\n  - pip: [pandas]\n",
        ),
    ),
    found("BYD116", "in the verifier", script("uvx --with pytest==8.4.1 --with numpy pytest", TEST)),
    found(
        "BYD116", "in another stage", {"environment/Dockerfile": f"FROM debian:12\nRUN pip install x\n{HEAD}"}
    ),
    passed("BYD116", "nothing", {}),
    passed(
        "BYD116",
        "a version",
        docker("RUN pip install pandas==2.3.2 'numpy[extra]==2.0; python_version>\"3\"'"),
    ),
    passed("BYD116", "packages of the distribution", docker("RUN apt-get install -y python3-pip curl jq")),
    passed("BYD116", "hashes", docker("RUN pip install --require-hashes -r requirements.txt pandas")),
    passed("BYD116", "constraints", docker("RUN pip install -c constraints.txt pandas")),
    passed("BYD116", "constraints for all", docker("ENV PIP_CONSTRAINT=/c.txt", "RUN pip install pandas")),
    passed("BYD116", "pip itself", docker("RUN pip install --upgrade pip setuptools wheel")),
    passed("BYD116", "the task's own package", docker("RUN pip install -e . ./lib /opt/x.whl")),
    passed("BYD116", "a commit", docker("RUN pip install git+https://example.org/a/b.git@0123abc")),
    passed("BYD116", "one file", docker("RUN pip install https://example.org/a-1.0-py3-none-any.whl")),
    passed("BYD116", "a variable", docker("ARG V=1", "RUN pip install pandas==$V $MORE")),
    passed(
        "BYD116",
        "there already",
        docker("RUN pip install pandas==2.3.2", "RUN pip install pandas", "RUN pip install Pandas"),
    ),
    passed(
        "BYD116",
        "a list with versions",
        env(
            docker("COPY r.txt /app/", "RUN pip install -r r.txt"),
            "r.txt",
            "# ours\n-i https://example.org/simple\npandas==2.3.2  # why\n\nx @ https://example.org/x.zip\n",
        ),
    ),
    passed(
        "BYD116",
        "a project's own file",
        env(
            docker("COPY pyproject.toml /app/", "RUN uv pip install --system -r pyproject.toml"),
            "pyproject.toml",
            '[project]\nname = "own"\ndependencies = ["pandas==2.3.2"]\n',
        ),
    ),
    passed("BYD116", "an option's value", docker("RUN pip install --root-user-action ignore pandas==2.3.2")),
    passed("BYD116", "a list that nobody knows", docker("RUN pip install -r /opt/r.txt")),
    passed("BYD116", "npm with a version", docker("RUN npm i -g typescript@5.4.2 @types/node@20.1.0 ./own")),
    passed(
        "BYD116",
        "a lock",
        env(
            env(docker("COPY package*.json /app/", "RUN npm install"), "package.json", PACKAGE),
            "package-lock.json",
            LOCK,
        ),
    ),
    passed("BYD116", "npm ci", env(docker("COPY package.json /app/", "RUN npm ci"), "package.json", PACKAGE)),
    passed("BYD116", "npm run", docker("RUN npm run build && yarn build && go build ./... && cargo build")),
    passed("BYD116", "gem with a version", docker("RUN gem install fluentd -v 1.16.2 && gem install a:1.2")),
    passed(
        "BYD116", "cargo with a version", docker("RUN cargo install ripgrep@14.1.0 && cargo install --path .")
    ),
    passed("BYD116", "a tag of go", docker("RUN go install github.com/golang/mock/mockgen@v1.6.0")),
    passed(
        "BYD116", "conda with a version", docker("RUN conda install -y -n base pandas=2.2 'numpy==2.0.0'")
    ),
    passed("BYD116", "only said", docker("RUN echo 'pip install pandas' > /app/notes.txt")),
    passed(
        "BYD116",
        "in the verifier",
        script("uvx --python 3.13 --with pytest==8.4.1 pytest -x /verifier/test_outputs.py", TEST),
    ),
)
