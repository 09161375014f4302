/**
 * The agent tool against the official conformance runner, on both wires. What is expected to fail is listed with its
 * reason beside this file; something listed that passes fails the run as well.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { testServer, type TestServer } from '../server.ts'
import { keyProxy } from './proxy.ts'
import { PATIENCE_MS } from '#test/until.ts'

const runner = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js')
let server: TestServer
let proxy: Awaited<ReturnType<typeof keyProxy>>

before(async () => {
  server = await testServer()
  const { key } = await (await server.person('Alice')).key()
  proxy = await keyProxy(server.origin, key)
})
after(async () => {
  await proxy[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const run = (args: string[]): Promise<{ code: number; out: string }> =>
  new Promise((resolve) =>
    execFile(
      process.execPath,
      [runner, ...args],
      { timeout: PATIENCE_MS, maxBuffer: 1 << 26 },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code ?? 1), out: stdout + stderr }),
    ),
  )

for (const wire of ['2025-11-25', '2026-07-28'])
  test(`requirements of ${wire} for a server with tools`, async () => {
    const baseline = join(import.meta.dirname, `${wire}.yml`)
    const { code, out } = await run([
      'server',
      '--url',
      `${proxy.origin}/mcp`,
      '--requirements',
      wire,
      '--expected-failures',
      baseline,
    ])
    assert.equal(code, 0, out.slice(-8_000))
    assert.match(out, /tools-list/)
  })
