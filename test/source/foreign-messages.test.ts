import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { mismatch } from '#modules/chats/agent/answer-schema.ts'
import { cronFault } from '#modules/automations/schedule/cron-fault.ts'
import { jsonFault } from '#packages/json-scan/json-text.ts'
import { compileLine } from '#packages/linear-grep/regex/line-pattern.ts'
import { compile as compilePattern } from '#packages/linear-grep/regex/pattern.ts'

const root = join(import.meta.dirname, '../..')

/** Places that read any error's message, and where it goes. */
const knownMessages: Readonly<Record<string, string>> = {
  'src/open-services.ts': 'the administrator who starts the server',
  'src/infra/start-refused.ts': 'the administrator who starts the server',
  'src/infra/blobs/s3.ts': 'the administrator, at the start and in `uk doctor`',
  'src/infra/pictures/child.ts': 'the debug log',
  'packages/media-tools/src/convert/encode-thread.ts': 'another thread, which throws it again: a fault of the server',
  'packages/media-tools/src/speech/flite-thread.ts': 'another thread, which throws it again: a fault of the server',
  'src/modules/accounts/passkeys/ceremony.ts': 'the log',
  'src/modules/ai-gateway/lists/known-lists.ts': 'the debug log',
  'src/modules/ai-gateway/lists/ask-provider.ts': 'the owner of an endpoint, and is of our own HTTP client',
  'src/modules/computers/drivers/docker/api.ts': 'the administrator: the operating system on a socket',
  'src/modules/computers/ports/tunnel.ts': 'a stream that is closed with it',
}

test('messages of unknown errors are read only where no caller sees them', () => {
  const readers = globSync('src/{modules,pipeline,gateway,authz,core,infra,interfaces/{mcp,docs,openapi}}/**/*.ts', {
    cwd: root,
  })
    .concat(
      'src/app.ts',
      'src/create-engine.ts',
      'src/open-services.ts',
      globSync('packages/*/src/**/*.ts', { cwd: root }),
    )
    .filter((path) => !/\.(test|long)\.ts$/.test(path))
    .filter((path) => {
      const source = readFileSync(join(root, path), 'utf8')
      return /instanceof Error\s*\?[^:?]*\.message|\(\w+ as Error\)\.message|\bString\((error|thrown|cause|err)\)/.test(
        source,
      )
    })
  assert.deepEqual(readers.toSorted(), Object.keys(knownMessages).toSorted())
})

const FOREIGN =
  /CronPattern|configuration entry|illegal|stepping|nearestWeekdays|error parsing|regexp|argument to repetition|Perl|is not valid JSON|in JSON at|Unexpected token|Invalid input|received|Expected|TypeError|SyntaxError|NaN|undefined/

test('schedules are refused with the name of their field and what it accepts', () => {
  const wrong: [string, RegExp][] = [
    ['', /has 0\.$/],
    ['every day', /must have 5 fields.*or 6.*such as `0 9 \* \* 1-5`.*has 2\.$/],
    ['* * * *', /has 4\.$/],
    ['* * * * * * *', /has 7\.$/],
    ['0 25 * * *', /`25` isn’t a valid hour\. Accepted: 0 to 23/],
    ['60 * * * *', /`60` isn’t a valid minute/],
    ['99 0 9 * * 1', /`99` isn’t a valid second/],
    ['0 9 32 * *', /`32` isn’t a valid day of month\. Accepted: 1 to 31/],
    ['0 9 * 13 *', /`13` isn’t a valid month\. Accepted: 1 to 12, or JAN to DEC/],
    ['0 9 * * 1-8', /`1-8` isn’t a valid day of week/],
    ['0 9 * * FOO', /`FOO` isn’t a valid day of week/],
    ['0 9 * * MON#9', /`MON#9` isn’t a valid day of week/],
    ['a b c d e', /`a` isn’t a valid minute/],
    ['1-0 * * * *', /`1-0` isn’t a valid minute/],
    ['*/0 * * * *', /`\*\/0` isn’t a valid minute/],
    ['*/100 * * * *', /minute/],
    ['1,,2 * * * *', /minute/],
    ['-1 * * * *', /minute/],
    ['0/5/2 * * * *', /minute/],
    ['1-5-7 * * * *', /minute/],
    ['1.5 * * * *', /minute/],
    ['L * * * *', /minute/],
    ['0 0 W * *', /day of month/],
    ['0 0 1W-3 * *', /day of month/],
    ['0 0 99W * *', /day of month/],
    ['0 0 1-L * *', /day of month/],
    ['0 0 * * 1#', /day of week/],
    ['0 0 * * MON-', /day of week/],
    ['@dayly', /`@dayly` isn’t a known nickname\. Accepted: @hourly, @daily/],
    ['@reboot', /Accepted: @hourly/],
    [`${'9'.repeat(500)} * * * *`, /minute/],
  ]
  for (const [pattern, says] of wrong) {
    const message = cronFault(pattern)
    assert.match(message ?? 'accepted', says, pattern)
    assert.match(message!, /^`schedule`/)
    assert.doesNotMatch(message!, FOREIGN, pattern)
    assert.ok(message!.length < 400, pattern)
  }
  for (const pattern of [
    '0 9 * * 1-5',
    '*/5 * * * *',
    '0 0 9 * * MON',
    '@daily',
    '@DAILY',
    '? ? ? ? ?',
    '0 0 LW * *',
    '0 0 * * 5L',
  ])
    assert.equal(cronFault(pattern), null, pattern)
})

test('regular expressions are refused in plain words', () => {
  const wrong = [
    '(a',
    'a)',
    '[a',
    'a**',
    '*a',
    '\\',
    '(?P<n>a)(?P<n>b)',
    '(?=a)',
    '(?<!a)',
    '\\1',
    'a{2,1}',
    'a{1001}',
    '[z-a]',
    '(?P<n',
    '\\p{Foo}',
    '\\q',
    '(?z)a',
    '(?i',
    '[[:foo:]]',
    'x{2}{3}',
    '((((',
    '\\x{110000}',
    '[]',
  ]
  for (const pattern of wrong)
    for (const compile of [
      () => compileLine({ line: pattern, case: 'sensitive' }),
      () => compilePattern({ pattern, case: 'sensitive', multiline: false, fixed: false }),
    ])
      assert.throws(compile, (error: Error) => {
        assert.match(
          error.message,
          /^The pattern isn’t a valid regular expression \(RE2 syntax\): (a|two|there|it|an|after|part)\b.*\.$/,
        )
        assert.doesNotMatch(error.message, FOREIGN, pattern)
        assert.doesNotMatch(error.message, /part of it isn’t valid/, pattern)
        return true
      })
})

test('JSON is refused in plain words, without quoting it', () => {
  const secret = 'hunter2-hunter2'
  const wrong: [string, RegExp][] = [
    ['', /ends unexpectedly/],
    ['{', /field name/],
    ['{"a"', /colon/],
    ['{"a":1', /comma or a closing/],
    ['{"a":1,}', /field name/],
    ['[1,]', /unexpected `\]`/],
    ['[1 2]', /comma/],
    ['{a:1}', /field name/],
    ["{'a':1}", /field name/],
    ['{"a":"b', /isn’t terminated \(line 1 column 8\)/],
    ['{"a":"b\nc"}', /control character/],
    ['{"a":"\\x"}', /escape/],
    ['{"a":"\\u12"}', /escape/],
    ['{"a":01}', /comma|number/],
    ['{"a":1.}', /number/],
    ['{"a":-}', /number/],
    ['{} {}', /content after the end/],
    ['undefined', /can’t be parsed/],
    ['NaN', /can’t be parsed/],
    [`{"password":"${secret}",x}`, /field name/],
    [`{"password":"${secret}"} x`, /content after the end/],
    [secret, /unexpected `h`/],
  ]
  for (const [text, says] of wrong) {
    let message = 'accepted'
    try {
      JSON.parse(text)
    } catch (error) {
      message = jsonFault(error)
    }
    assert.match(message, says, text)
    assert.doesNotMatch(message, FOREIGN, text)
    assert.ok(!message.includes(secret), message)
  }
})

test('answers that miss their schema are described in plain words', () => {
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 2, maxLength: 4 },
      count: { type: 'integer', minimum: 1, maximum: 9, multipleOf: 3 },
      kind: { enum: ['a', 'b'] },
      tags: { type: 'array', items: { type: 'string' }, minItems: 1 },
      either: { anyOf: [{ type: 'string' }, { type: 'boolean' }] },
    },
    required: ['name'],
    additionalProperties: false,
  }
  for (const [value, field] of [
    [{}, 'name'],
    [{ name: 1 }, 'name'],
    [{ name: 'a' }, 'name'],
    [{ name: 'abcde' }, 'name'],
    [{ name: 'abc', count: 1.5 }, 'count'],
    [{ name: 'abc', count: 0 }, 'count'],
    [{ name: 'abc', count: 10 }, 'count'],
    [{ name: 'abc', count: 4 }, 'count'],
    [{ name: 'abc', kind: 'c' }, 'kind'],
    [{ name: 'abc', tags: [] }, 'tags'],
    [{ name: 'abc', tags: [1] }, 'tags.0'],
    [{ name: 'abc', either: 1 }, 'either'],
    [{ name: 'abc', other: 1 }, 'the answer'],
    [[], 'the answer'],
    ['text', 'the answer'],
  ] as const) {
    const message = mismatch(schema, JSON.stringify(value))
    assert.match(
      message ?? 'accepted',
      field === 'the answer' ? /^the answer (must|has|is)\b/ : new RegExp(`^\`${field}\`(:| must| has| is)`),
    )
    assert.doesNotMatch(message!, FOREIGN, JSON.stringify(value))
  }
})
