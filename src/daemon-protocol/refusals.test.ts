import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Refusal } from '#core/errors.ts'
import { heldLink } from '#test/link/pair.ts'
import { SAID } from './shapes/refusal.ts'

test('a code that a daemon says is one that the other end knows', () => {
  const daemon = join(import.meta.dirname, '../daemon')
  const files = readdirSync(daemon, { recursive: true, encoding: 'utf8' }).filter((file) => /(?<!test)\.ts$/.test(file))
  const said = files.flatMap((file) =>
    [...readFileSync(join(daemon, file), 'utf8').matchAll(/(?:refuse|Refusal)\(\s*'(\w+)'/g)].map(([, code]) => code!),
  )
  assert.ok(said.length > 50)
  assert.deepEqual(
    [...new Set(said)].filter((code) => !SAID.has(code)),
    [],
  )
})

test('a refusal is sent unchanged, and other errors reveal nothing', async () => {
  const link = heldLink({
    async daemon({ input }) {
      if ((input as { fault?: boolean }).fault) throw new Error('a secret of the machine')
      throw new Refusal('storage_full', { message: 'The disk is full.', details: { free_bytes: 1 } })
    },
  })
  const refused = link.server.open({ op: 'daemon.probe', input: {} })
  const failed = link.server.open({ op: 'daemon.probe', input: { fault: true } })
  await link.settle()
  await assert.rejects(refused.output, {
    code: 'storage_full',
    message: 'The disk is full.',
    details: { free_bytes: 1 },
  })
  await assert.rejects(
    failed.output,
    (error: Refusal) => error.code === 'internal_error' && !/secret/.test(error.message),
  )
})
