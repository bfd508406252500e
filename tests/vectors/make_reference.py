"""Makes reference.json: what the reference implementation says of random records.

The four functions are those of the published reference, so that the keys of the recipes
`reference/...` can be compared with them at will:  python3 make_reference.py > reference.json
The random numbers begin from the seed below; the zone must be UTC.
"""

import datetime as dt
import hashlib
import json
import random
from decimal import ROUND_HALF_UP, Decimal

SEED = 20260716
UNITS = {"ea": "EA", "each": "EA", "EA": "EA", "ml": "ML", "ML": "ML", "gm": "GM", "g": "GM",
         "GM": "GM", "tab": "TAB", "TAB": "TAB", "cap": "CAP", "CAP": "CAP"}


def utc(text):
    return dt.datetime.fromisoformat(text).astimezone(dt.timezone.utc)


def item(i):
    unit = UNITS.get(i["unit"].strip(), i["unit"].strip().upper())
    quantity = Decimal(i["qty_delta"]).quantize(Decimal("0.001"), rounding=ROUND_HALF_UP)
    return {"ndc11": i["ndc11"], "lot": i["lot"], "qty_delta": str(quantity), "unit": unit,
            "event_type": i["event_type"]}


def digest(canonical):
    text = json.dumps(canonical, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def batch(d):
    items = sorted((item(i) for i in d["items"]),
                   key=lambda i: (i["ndc11"], i["lot"], i["event_type"], i["qty_delta"]))
    stamp = utc(d["batch_ts"]).strftime("%Y-%m-%dT%H:%M:%SZ")
    return (f"idem:batch:{d['facility_uuid']}:"
            + digest({"facility_uuid": d["facility_uuid"], "batch_ts": stamp, "items": items}))


def single(d):
    return f"idem:item:{d['facility_uuid']}:" + digest({"facility_uuid": d["facility_uuid"], **item(d)})


def joined(*parts):
    return hashlib.sha256("|".join(parts).encode()).hexdigest()


def epcis(d):
    return joined(d["gtin"], d["serial"], utc(d["event_time"]).isoformat(), d["biz_step"])


def lab(d):
    stamp = utc(d["resulted_at"]).replace(microsecond=0).isoformat()
    return joined(d["accession"].strip(), d["analyte_loinc"].strip().upper(),
                  d["instrument_id"].strip(), stamp)


def main():
    r = random.Random(SEED)
    signs = "abcXYZ019 -_/.:;'\"\\\t\n\x1c\x7f\u00e9\u00df\u0130\u1e9e\ufb01\u00b5\u03bc\u200b\u3000\ufeff\ufffd\U0001f489"
    text = lambda least: "".join(r.choice(signs) for _ in range(r.randint(least, 8)))
    stamp = lambda: (f"{r.randint(1970, 2199):04}-{r.randint(1, 12):02}-{r.randint(1, 28):02}"
                     f"{r.choice('T ')}{r.randint(0, 23):02}:{r.randint(0, 59):02}:{r.randint(0, 59):02}"
                     + r.choice(["", ".5", ".123", ".123456", ".999999", ".000000"])
                     + r.choice(["Z", "+00:00", "-00:00", "-04:00", "+05:30", "+13:59", "-11:45"]))
    number = lambda: r.choice(["", "-"]) + r.choice([
        str(r.randint(0, 10**r.randint(1, 24))), f"{r.random():.{r.randint(1, 12)}f}", "0", "0.0004",
        "0.0005", "000.5", "9.9995", f"{r.randint(1, 999)}e{r.randint(-6, 6)}", "1E+2", "0e9",
        "0." + "9" * r.randint(1, 40), f"{r.randint(0, 10**6)}.{r.randint(0, 10**6)}"])
    unit = lambda: r.choice([*UNITS, "EACH", "G", " ea ", "mg", "Mg", "\u00b5g", "stra\u00dfe", text(0)])
    movement = lambda: {"ndc11": text(0), "lot": r.choice(["L1", text(0)]), "qty_delta": number(),
                        "unit": unit(), "event_type": r.choice(["receipt", text(0)])}
    facility = lambda: r.choice(["5f1e6c2a-0000-4000-8000-000000000abc", text(0)])
    vectors = []
    for _ in range(60):
        d = {"facility_uuid": facility(), "batch_ts": stamp(),
             "items": [movement() for _ in range(r.randint(1, 5))]}
        vectors.append(("reference/inventory-batch", d, batch(d)))
        d = {"facility_uuid": facility(), **movement()}
        vectors.append(("reference/inventory-item", d, single(d)))
        d = {"gtin": text(0), "serial": text(0), "event_time": stamp(), "biz_step": text(0)}
        vectors.append(("reference/epcis-event", d, epcis(d)))
        d = {"accession": "a" + text(0), "analyte_loinc": text(0), "instrument_id": text(0) + "b",
             "resulted_at": stamp(), "value": 4.2}
        vectors.append(("reference/lab-result", d, lab(d)))
    documents = [{"id": f"R{n:03}", "recipe": recipe, "document": json.dumps(d, ensure_ascii=r.random() < 0.5),
                  "key": key} for n, (recipe, d, key) in enumerate(vectors)]
    print(json.dumps({"vectors": documents}, indent=1))


if __name__ == "__main__":
    main()
