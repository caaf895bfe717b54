"""List a prefix of a bucket and get every object with boto3; print the cost as JSON.

The second argument is the number of threads, 1 for a plain loop. Runs in boto3's environment, so
it imports nothing of ours.
"""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit


def main() -> None:
    import boto3
    from botocore.config import Config

    n_threads = int(sys.argv[2])
    url = urlsplit(sys.argv[1])
    bucket, prefix = url.netloc, url.path.strip("/") + "/"
    began = os.times()
    client = boto3.client("s3", config=Config(max_pool_connections=max(n_threads, 10)))
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    keys = [item["Key"] for page in pages for item in page.get("Contents", [])]

    def get(key: str) -> int:
        return len(client.get_object(Bucket=bucket, Key=key)["Body"].read())

    if n_threads == 1:
        sizes = [get(key) for key in keys]
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            sizes = list(pool.map(get, keys))
    ended = os.times()
    print(
        json.dumps(
            {
                "cpu_seconds": ended.user + ended.system - began.user - began.system,
                "seconds": ended.elapsed - began.elapsed,
                "objects": len(sizes),
                "bytes": sum(sizes),
            }
        )
    )


if __name__ == "__main__":
    main()
