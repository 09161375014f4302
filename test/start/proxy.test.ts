// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { upload } from '../drive/drive.ts'
import { needs } from '../needs.ts'
import { temporaryDir } from '../program.ts'
import { caller, testServer } from '../server.ts'
import { until } from '../until.ts'

const docs = readFileSync(join(import.meta.dirname, '../../docs/operating.md'), 'utf8')
const there = spawnSync('nginx', ['-v']).status === 0

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

test('the block for nginx that operators paste passes uploads of any size', needs(there, 'nginx'), async () => {
  using dir = temporaryDir()
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  const port = await freePort()
  const [, block] = /<!-- nginx -->\s+```nginx\n([\s\S]*?)```/.exec(docs)!
  // As it stands, but for its address, its certificate and where the server listens.
  const pasted = block!
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
    .replaceAll(/^ *ssl_certificate.*$/gm, '')
    .replace('http://127.0.0.1:4242', server.origin)
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${dir.path};`)
  const conf = join(dir.path, 'nginx.conf')
  writeFileSync(
    conf,
    `daemon off; master_process off; pid ${dir.path}/pid; error_log stderr; events {}
     http { access_log off; ${folders.join(' ')}\n${pasted} }\n`,
  )
  const nginx = spawn('nginx', ['-c', conf, '-e', 'stderr'], { stdio: 'ignore' })
  const ended = once(nginx, 'exit')
  try {
    const origin = `http://127.0.0.1:${port}`
    await until(
      async () => (await fetch(`${origin}/healthz`).catch(() => null))?.status,
      (status) => status === 200,
    )
    const through = caller(origin, { authorization: `Bearer ${key}` })
    const made = await upload(through, { workspace_id: alice.workspaceId }, randomBytes(3 << 20), 'large.bin')
    assert.equal(made.status, 201, made.text)
  } finally {
    nginx.kill('SIGTERM')
    await ended
  }
})
