import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadContracts } from '#modules/contracts.ts'
import { describeSettings } from '#config'
import { inputSchema, list } from '#core/registry.ts'
import { recorder } from '#test/cli/uk.ts'
import { wordsOf } from '../../words.ts'
import { exits } from '../exit.ts'
import { globals } from '../globals.ts'
import { fieldsOf } from '../input/fields.ts'
import { helpOn } from '../help.ts'
import { usageOf } from './examples.ts'
import { run } from '../run.ts'
import { specials } from '../commands/specials.ts'

test('every endpoint is a command with help and a unique name', async () => {
  const all = list(await loadContracts())
  const words = all.map((one) => wordsOf(one).join(' '))
  assert.deepEqual(words, [...new Set(words)])
  const reserved = [...specials.map((special) => special.words.join(' ')), 'help']
  assert.deepEqual(
    words.filter((one) => reserved.includes(one)),
    [],
  )
  for (const one of all) {
    const text = await helpOn([one], recorder())
    assert.match(text, new RegExp(`uk ${wordsOf(one).join(' ')}`))
    assert.ok(!text.includes('undefined') && !text.includes('[object'), text)
    const taken = fieldsOf(one.endpoint).find(({ flag }) => flag === 'json' || flag === 'help')
    assert.equal(taken, undefined, `${one.name}: a field is called as an option that every command needs`)
  }
})

test('help shows a valid example item of each list, as JSON for objects', async () => {
  const all = list(await loadContracts())
  const helpFor = (name: string) => helpOn([all.find((one) => one.name === name)!], recorder({ columns: 300 }))
  const create = await helpFor('ai_gateway.create')
  assert.match(
    create,
    /--models <json> .* Each item is JSON, such as '\{"id":"gpt-4o","pricing":\{.*\}\}'\. Repeatable/,
  )
  const preview = await helpFor('ai_gateway.routing_preview')
  assert.match(preview, /--models <item> .* Repeatable/)
  assert.match(preview, /\$ uk ai-gateway routing-preview sim\/echo --models sim\/echo\n/)
  for (const { name, endpoint } of all)
    for (const field of fieldsOf(endpoint).filter(({ ofThings }) => ofThings)) {
      const taken = inputSchema(endpoint).shape[field.name].safeParse([field.example])
      assert.ok(taken.success, `${name} --${field.flag} ${JSON.stringify(field.example)}`)
    }
})

test('requested help goes to stdout and names the topics', async () => {
  for (const topic of [
    '',
    'commands',
    'exit-codes',
    'input',
    'output',
    'environment',
    'api-keys',
    'login',
    'api-keys create',
  ]) {
    const terminal = recorder()
    assert.equal(await run(['help', ...topic.split(' ').filter(Boolean)], terminal), 0)
    assert.ok(terminal.said.join('').length > 40)
  }
  const terminal = recorder()
  assert.equal(await run([], terminal), 0, 'alone it is a short page')
  const page = terminal.said.join('')
  assert.match(page, /uk ask 'Hello'/)
  assert.ok(page.split('\n').length <= 20, page)
})

test('in a pipe, `uk help commands` prints each command on one line with its summary', async () => {
  const linesOf = async (more: Parameters<typeof recorder>[0]) => {
    const terminal = recorder(more)
    assert.equal(await run(['help', 'commands'], terminal), 0)
    return terminal.said.join('').trimEnd().split('\n')
  }
  const all = list(await loadContracts())
  const lines = await linesOf({ columns: 80 })
  assert.equal(lines.length, all.length)
  for (const [i, one] of all.entries()) {
    assert.ok(lines[i]!.startsWith(`  ${usageOf(one)} `), lines[i])
    assert.ok(lines[i]!.endsWith(` ${one.endpoint.summary}`), lines[i])
  }
  assert.ok((await linesOf({ columns: 80, interactive: true })).length > all.length, 'a terminal gets wrapped lines')
})

test('uk config explains every setting, hides secrets, and prints the startup warnings', async () => {
  const asked = async (env: Record<string, string>) => {
    const terminal = recorder({ env })
    const code = await run(['config'], terminal)
    return { code, out: terminal.said.join(''), err: terminal.told.join('\n') }
  }
  const some = await asked({
    UK_PORT: '4243',
    UK_SECRET_KEY: 'x'.repeat(32),
    OPENAI_API_KEY: 'sk-hunter2',
    UK_PROT: '1',
  })
  assert.equal(some.code, 0)
  assert.match(some.out, /^UK_PORT +4243\n +The port to listen on/m)
  assert.match(some.out, /^OPENAI_API_KEY +\(set\)$/m)
  assert.ok(!some.out.includes('hunter2') && !some.out.includes('xxxx'))
  assert.match(some.err, /UK_PROT is not a setting; did you mean UK_PORT/)
  for (const { name, meaning } of describeSettings({})) assert.match(meaning, /\w{4}.*\.$/, name)
  const wrong = await asked({ UK_PORT: 'many' })
  assert.equal(wrong.code, exits.usage[0])
  assert.match(wrong.err, /UK_PORT must be a whole number/)
  assert.match(wrong.out, /^UK_PORT +many$/m, 'the list is there all the same')
})

test('help shows a placeholder for each option, and "file" only for files', async () => {
  const options = (text: string): [string, string][] =>
    [...text.matchAll(/--(?:\[no-\])?([a-z][a-z0-9-]*) <([^>]+)>/g)].map(([, flag, placeholder]) => [
      flag!,
      placeholder!,
    ])
  const valueGlobals = Object.entries(globals).flatMap(([name, [kind, , placeholder]]) =>
    kind === 'value' ? [[name, placeholder] as const] : [],
  )
  const files = new Set(['input', 'output'])
  for (const [name, placeholder] of valueGlobals) {
    assert.match(placeholder, /^[a-z][a-z ]*( or ID)?$/, `--${name}`)
    assert.equal(placeholder === 'file', files.has(name), `--${name} <${placeholder}>`)
  }
  for (const one of list(await loadContracts())) {
    const fields = fieldsOf(one.endpoint)
    // Wide enough for one line per option.
    const text = await helpOn([one], recorder({ columns: 1_000 }))
    const seen = new Map(options(text))
    for (const field of fields.filter(({ inPath, kind }) => !inPath && kind !== 'switch')) {
      const placeholder = seen.get(field.flag)
      assert.ok(placeholder, `${one.name} --${field.flag}`)
      const isFile = field.source === true || field.several === true
      assert.equal(placeholder === 'file', isFile, `${one.name} --${field.flag} <${placeholder}>`)
      if (/_?id$/.test(field.name) && field.kind === 'text')
        assert.match(placeholder, /\b(id|ID)$/, `${one.name} --${field.flag}`)
    }
    for (const [name, placeholder] of valueGlobals)
      if (seen.has(name) && !fields.some(({ flag }) => flag === name))
        assert.equal(seen.get(name), placeholder, `${one.name} --${name}`)
  }
  for (const { words, usage } of specials)
    for (const [flag, placeholder] of options(usage)) {
      const known = valueGlobals.find(([name]) => name === flag)
      if (known) assert.equal(placeholder, known[1], `uk ${words.join(' ')} --${flag}`)
    }
})
