#!/usr/bin/env python3
"""sigv4_vectors.py >sigv4_vectors.json: requests and how botocore, an independent implementation, signs them.

Needs botocore (`pip install botocore` in a virtual environment); the result is committed, so that tests do not.
"""

import datetime
import json
from urllib.parse import quote

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

KEY_ID, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TOKEN = "IQoJb3JpZ2luX2VjEXAMPLE//////////wEaCXVzLWVhc3QtMSJ+token=="
DAY = datetime.datetime(2026, 11, 21, 3, 56, 18)

# method, host, path (not encoded), query, headers, body (None: unsigned), region, time, session token
CASES = [
    ("GET", "s3.amazonaws.com", "/bucket/key", {}, {}, "", "us-east-1", DAY, ""),
    ("HEAD", "bucket.s3.eu-central-1.amazonaws.com", "/a/b/c.db", {}, {}, "", "eu-central-1", DAY, ""),
    ("PUT", "127.0.0.1:9000", "/bucket/db.db", {}, {"x-amz-meta-etcd-snapshot-uid": "6a1f"}, "hello", "us-east-1", DAY, ""),
    ("PUT", "store.example", "/b/if-absent", {}, {"if-none-match": "*"}, "x" * 1000, "us-east-1", DAY, TOKEN),
    ("GET", "store.example", "/b/range", {}, {"range": "bytes=0-9", "if-match": '"abc"'}, "", "garage", DAY, ""),
    ("POST", "store.example", "/b/parts", {"uploads": ""}, {}, "", "us-east-1", DAY, ""),
    ("PUT", "store.example", "/b/parts", {"partNumber": "10000", "uploadId": "a.b_c-d~e+f/g="}, {}, None, "us-east-1", DAY, ""),
    ("POST", "store.example", "/b/parts", {"uploadId": "id"}, {}, "<CompleteMultipartUpload/>", "us-east-1", DAY, TOKEN),
    ("DELETE", "store.example", "/b/parts", {"uploadId": "id"}, {}, "", "ap-southeast-2", DAY, ""),
    ("GET", "store.example", "/b/", {"list-type": "2", "prefix": "a b/c&d=é", "max-keys": "3"}, {}, "", "us-east-1", DAY, ""),
    ("GET", "store.example", "/b/", {"a-": "1", "a": "2", "a b": "3", "aB": "4", "A": "5"}, {}, "", "us-east-1", DAY, ""),
    ("GET", "store.example", "/b/sp ace+plus%25&amp;=é~(x)*'!,;:@$", {}, {}, "", "us-east-1", DAY, ""),
    ("GET", "store.example", "/b//two///slashes/", {}, {}, "", "us-east-1", DAY, ""),
    ("PUT", "store.example", "/b/meta", {}, {"x-amz-meta-a": "  two  words   here ", "x-amz-meta-b": ""}, "", "us-east-1", DAY, ""),
    ("GET", "store.example", "/b/newyear", {}, {}, "", "us-east-1", datetime.datetime(2027, 1, 1), ""),
    ("GET", "store.example", "/b/leap", {}, {}, "", "us-east-1", datetime.datetime(2028, 2, 29, 23, 59, 59), TOKEN),
]


def vector(method, host, path, query, headers, body, region, time, token):
    botocore.auth.get_current_datetime = lambda *_: time
    encoded = quote(path, safe="/-_.~")
    url = f"https://{host}{encoded}"
    if query:
        url += "?" + "&".join(f"{quote(k, safe='-_.~')}={quote(v, safe='-_.~')}" for k, v in query.items())
    request = AWSRequest(method=method, url=url, data=(body or "").encode(), headers=headers)
    request.context["payload_signing_enabled"] = body is not None
    if body is None:  # botocore signs the payload unless it has another checksum of it
        request.context["has_streaming_input"] = True
        request.context["checksum"] = {"request_algorithm": {"in": "header", "name": "x-amz-meta-sum"}}
        request.headers["x-amz-meta-sum"] = headers["x-amz-meta-sum"] = "1"
    auth = botocore.auth.S3SigV4Auth(Credentials(KEY_ID, SECRET, token or None), "s3", region)
    auth.add_auth(request)
    wanted = {k.lower(): v for k, v in request.headers.items() if k.lower() not in headers}
    return {
        "method": method, "path": encoded, "query": query, "headers": {"host": host, **headers}, "body": body,
        "region": region, "key_id": KEY_ID, "secret": SECRET, "session_token": token,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "wanted": wanted,
    }


print(json.dumps([vector(*case) for case in CASES], indent=1, ensure_ascii=True))
