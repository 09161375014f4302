import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadContracts } from '#modules/contracts.ts'
import { list } from '#core/registry.ts'
import { Stop } from '../exit.ts'
import { parseArguments } from './arguments.ts'
import { type Field, fieldsOf } from './fields.ts'
import { readText } from './input.ts'

const NICKNAMES = ['@hourly', '@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually']
const fields: [command: string, field: Field][] = list(await loadContracts()).flatMap(({ name, endpoint }) =>
  fieldsOf(endpoint).map((field): [string, Field] => [name, { ...field, required: false, inPath: false }]),
)
const parse = async (field: Field, word: string): Promise<unknown> =>
  (await parseArguments([`--${field.flag}`, word], [field], readText)).input[field.name]

test('every schedule accepts the nicknames of cron in any case', async () => {
  const schedules = fields.filter(([, { name, kind }]) => name === 'schedule' && kind === 'text')
  assert.deepEqual(schedules.map(([name]) => name).toSorted(), [
    'automations.create',
    'automations.firings',
    'automations.update',
  ])
  for (const [command, field] of schedules)
    for (const word of NICKNAMES)
      for (const typed of [word, word.toUpperCase()]) assert.equal(await parse(field, typed), typed, command)
})

test('text that starts with @ is rejected with a hint and without a system message', async () => {
  for (const [command, field] of fields.filter(([, one]) => one.kind === 'text' && !one.verbatim && !one.secret))
    await assert.rejects(parse(field, '@dayly'), (error) => {
      assert.ok(error instanceof Stop, command)
      const told = `${error.message} ${error.hint}`
      assert.match(
        told,
        field.atWords ? /isn't one of @hourly.*Did you mean `@daily`/ : /dayly doesn't exist.*@@dayly/,
        command,
      )
      assert.doesNotMatch(told, /ENOENT/)
      return true
    })
})
