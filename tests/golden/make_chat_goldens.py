#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes chat_templates.json: texts that transformers makes of chat templates, for ours to equal.

    tests/golden/make_chat_goldens.py            (requires transformers and jinja2; see "versions")

The templates are written for this purpose: each uses some part of the language as released ones do.
"""
import json
import pathlib

import jinja2
import transformers
from transformers.utils.chat_template_utils import render_jinja_template

TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}

CHATS = {
    "question": [{"role": "user", "content": "  Is it so?\n"}],
    "system": [{"role": "system", "content": "Be brief. "}, {"role": "user", "content": "Hi"}],
    "turns": [{"role": "user", "content": "One"},
              {"role": "assistant", "content": "<think>\nhm\n</think>\n\nTwo "},
              {"role": "user", "content": "Drei\u00df?\n\u4e2d 'q' \"d\" \\ \u00e9"}],
    "answer first": [{"role": "assistant", "content": "B"}],
}

TEMPLATES = {
    "chatml": """{% for message in messages %}
{{ '<|im_start|>' + message['role'] + '\\n' + message.content | trim + '<|im_end|>' }}
{% endfor %}
{% if add_generation_prompt %}
{{ '<|im_start|>assistant\\n' }}
{%- endif -%}
""",
    "system first": """{{- bos_token }}{% if messages[0].role == 'system' %}
    {%- set system = messages[0].content -%}
    {%- set rest = messages[1:] -%}
{% else %}{% set system = 'none' %}{% set rest = messages %}{% endif %}
[{{ system }}]
{% for m in rest if m.role != 'system' %}
    {% if (m.role == 'user') != (loop.index0 % 2 == 0) %}
        {{ raise_exception('turns must alternate, got ' ~ m.role) }}
    {% endif %}
  {{ loop.index }}/{{ loop.length }}{{ ' last' if loop.last }} {{ m['content'].strip() }}{{ eos_token if loop.last else '' }}
{% else %}
nobody
{% endfor %}
""",
    "namespace": """{% set ns = namespace(last=none, count=0, seen=false) %}
{% for m in messages[::-1] %}{% set ns.count = ns.count + 1 %}
{% if m.role == 'user' and not ns.seen %}{% set ns.seen = true %}{% set ns.last = loop.revindex0 %}{% endif %}
{% endfor %}
{{ ns.last }} {{ ns.count }} {{ ns.seen }} {{ ns.absent is defined }}""",
    "thinking": """{% for m in messages %}
{% set content = m.content %}
{% if m.role == 'assistant' and '</think>' in content %}
{% set thought = content.split('</think>')[0].split('<think>')[-1].strip('\\n') %}
{% set content = content.split('</think>')[-1].lstrip('\\n') %}
({{ thought }})
{%- endif %}
<{{ m.role }}>{{ content }}<end>
{% endfor %}""",
    "macro": """{% macro turn(role, text='-', mark="#") -%}
{{ mark }}{{ role | upper }}: {{ text | trim }}
{%- endmacro %}
{% for m in messages %}{{ turn(m.role, m.content) }}{{ turn(role=m.role) }}{{ turn(*[m.role], **{'mark': '!'}) }}
{% endfor %}""",
    "filters": """{{ messages | map(attribute='role') | join(', ') }}
{{ messages | selectattr('role', 'equalto', 'user') | list | length }}
{{ messages | rejectattr('role', 'equalto', 'user') | map(attribute='content') | list }}
{{ ['b', 'A', 'c'] | sort }} {{ ['b', 'A'] | map('upper') | list }} {{ [3, 1, 2] | sort(reverse=true) }}
{{ {'b': 1, 'a': [1, 2.5, none, true]} | dictsort }} {{ {'b': 1, 'a': 'x'}.items() | list }}
{{ 'a-b' | replace('-', '+') }} {{ missing | default('d') }} {{ '' | default('e', true) }} {{ 'x y' | title }}
{{ '12' | int + 1 }} {{ 'x' | int(7) }} {{ '2.5' | float }} {{ [1, 2] | sum }} {{ [1, 2] | first }} {{ 'abc' | last }}
{{ 'a\\nb' | indent(2) }} {{ 'abc' | reverse }} {{ [1, 1, 2] | unique | list }} {{ -3 | abs }} {{ '<&>' | e }}
{{ 'HELLO wOrld' | capitalize }} {{ [3, 1] | max }} {{ [3, 1] | min }} {{ 'abc' | list }} {{ 5 | string }}""",
    "json": """{{ messages | tojson }}
{{ {'a': [1, 2.0, 1e3], 'b': {}, 'c': [], 'd': 'é"\\\\ \\n', 'e': none, 'f': true} | tojson(indent=2) }}
{{ [1, {'z': 1, 'a': 2}] | tojson(sort_keys=true) }}""",
    "values": """{{ 1 }} {{ 1.0 }} {{ 2.5 }} {{ true }} {{ none }} {{ missing }} {{ 'x' }} {{ [1, 'a', "b'c"] }} {{ {'k': [none]} }} {{ (1,) }} {{ 1e999 }} {{ 1e-999 }} {{ 2.5E3 }}
{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 1 + 2 * 3 - 4 }} {{ 'a' * 3 }} {{ [1] + [2] }} {{ 1 ~ 'b' ~ 2.0 }}
{{ 1 < 2 < 3 }} {{ 'a' in 'abc' }} {{ 2 not in [1] }} {{ 'k' in {'k': 1} }} {{ not true }} {{ 0 or 'x' }} {{ '' and 'y' }} {{ 1 == 1.0 }} {{ 1 == '1' }}
{{ 'abc'[1] }} {{ 'abcd'[1:-1] }} {{ 'abcd'[::-1] }} {{ [1, 2, 3][-1] }} {{ [1, 2, 3][:2] }} {{ [1][5] }} {{ {'a': 1}.get('b') }} {{ {'a': 1}.get('b', 2) }}
{{ 'b' if 1 > 2 }} {{ 'b' if 1 > 2 else 'c' }} {{ range(5) | list }} {{ range(5, 0, -2) | list }} {{ dict(a=1)['a'] }} {{ 'a' 'b' }}
{{ '\\u00e9\\x41\\t|' }} {{ "it's" }} {{ 'é中'[1] }} {{ 'é中' | length }}""",
    "tests": """{{ 1 is defined }} {{ missing is defined }} {{ missing is undefined }} {{ none is none }} {{ 'a' is string }} {{ {} is mapping }}
{{ [] is sequence }} {{ 'a' is sequence }} {{ 'a' is iterable }} {{ 1 is iterable }} {{ 1 is number }} {{ 1.5 is integer }} {{ true is boolean }} {{ true is integer }}
{{ 3 is odd }} {{ 3 is divisibleby 3 }} {{ 3 is divisibleby(2) }} {{ 1 is not none }} {{ 2 is gt 1 }} {{ 'a' is in ['a'] }} {{ true is true }} {{ 1 is sameas true }}""",
    "methods": """{{ ' a b '.split() }} {{ 'a,b,c'.split(',', 1) }} {{ 'a,b,c'.rsplit(',', 1) }} {{ 'a\\nb'.splitlines() }}
{{ 'xxaxx'.strip('x') }} {{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('x', 'c')) }} {{ 'abc'.find('c') }} {{ 'aXa'.lower() }} {{ 'ß'.upper() }}
{{ 'a-b-c'.replace('-', '', 1) }} {{ ', '.join(['a', 'b']) }} {{ 'abab'.count('ab') }} {{ 'a b'.title() }} {{ '12'.isdigit() }} {{ [1, 2, 1].count(1) }}
{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %}{{ {'a': 1}.keys() | list }}{{ {'a': 1}.values() | list }}""",
    "white space": """  {% if true %}
    kept {{- ' joined ' -}}   
  text
  {%+ if true %} plus {% endif +%}
  {% endif %}
  {#- a comment -#}  
after {# one more #}
  {%- for i in range(3) -%}   {{ i }}   {%- endfor %}

{% set block %}
 inner {{ 1 }}
{% endset %}[{{ block }}]
end
""",
    "flow": """{% for i in range(10) %}{% if i == 2 %}{% continue %}{% elif i == 5 %}{% break %}{% else %}{{ i }}{% endif %}{% endfor %}
{% for a, b in [[1, 2], [3, 4]] %}{{ a + b }},{{ loop.cycle('x', 'y') }},{{ loop.previtem is defined }};{% endfor %}
{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}{% set a, b = 3, 4 %}{{ a }}{{ b }}
{% generation %}answer{% endgeneration %}{{ tools }}{{ documents is none }}{{ strftime_now is defined }}{{ add_generation_prompt }}""",
    "error": "{{ bos_token }}\n{{ missing.attribute }}",
    "error of types": "{{ 'a' + 1 }}",
}


def rendered(template, messages, adds_prompt):
    try:
        texts, _ = render_jinja_template([messages], chat_template=template,
                                         add_generation_prompt=adds_prompt, **TOKENS)
        return {"text": texts[0]}
    except (jinja2.exceptions.TemplateError, TypeError) as error:
        return {"error": str(error)}


def main():
    cases = [{"template": name, "chat": chat, "adds_generation_prompt": adds_prompt,
              **rendered(template, messages, adds_prompt)}
             for name, template in TEMPLATES.items()
             for chat, messages in CHATS.items() for adds_prompt in (True, False)]
    golden = {"versions": {"transformers": transformers.__version__, "jinja2": jinja2.__version__},
              "special_tokens": TOKENS, "chats": CHATS, "templates": TEMPLATES, "cases": cases}
    path = pathlib.Path(__file__).parent / "chat_templates.json"
    path.write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
