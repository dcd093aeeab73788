# gradrank with the packages of requirements.lock and the Python of the committed results.
#     docker build --tag gradrank --build-arg PIP_EXTRA_INDEX_URL=ADDRESS .
#     docker run --rm --volume "$PWD:/project" gradrank snakemake --cores 2
FROM python:3.11.7-bookworm

# The address of the index of torch's build for the CPU, whose hash requirements.lock lists. The default index has only
# the build for CUDA, and the lock does not contain the CUDA packages of that build.
ARG PIP_EXTRA_INDEX_URL

WORKDIR /opt/gradrank
COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes --no-deps --requirement requirements.lock
COPY . ./
RUN pip install --no-cache-dir --no-deps --editable . \
    && useradd --create-home --uid 1000 gradrank

USER 1000
WORKDIR /project
CMD ["gradrank", "--help"]
