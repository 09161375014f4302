import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { WebSocketServer } from 'ws'
import { overWebSocket } from '#daemon-protocol/link.ts'
import { type Home, type RunningDaemon, daemonHome, runDaemonAt } from '#test/link/run-daemon.ts'
import { until } from '#test/until.ts'
import { mayUpdate } from './updates.ts'
import { type Version, hashOf, readManifest } from './versions.ts'

/** A compromised server: accepts every machine and offers anything. */
const me = { id: '01KAJ8R3T2M6QK5W9V0XBZC4DE', credential: `ukm_${'A'.repeat(43)}` }
const answers = new Map<string, string | ((response: ServerResponse) => void)>()
const requests: string[] = []
let update: object | null = null
const http = createServer(({ url }, response) => {
  requests.push(url!)
  const answer = answers.get(url!)
  if (answer === undefined) response.writeHead(404).end()
  else if (typeof answer === 'string') response.end(answer)
  else answer(response)
})
const sockets = new WebSocketServer({ server: http })
sockets.on('connection', (socket) => {
  const mux = overWebSocket(socket, {
    opens: 'even',
    onHello: () => mux.hello({ protocol: 2, server_version: 'x', computer_id: me.id, epoch: 1, update }),
    answer: () => Promise.resolve({}),
  })
})
http.listen(0, '127.0.0.1')
await once(http, 'listening')
after(() => {
  for (const client of sockets.clients) client.terminate()
  http.closeAllConnections()
  http.close()
})
const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
const at = (sha256: string): string => `/install/files/${sha256}`

/** Starts an installed daemon and offers it this update. */
async function offered(home: Home, offer: object, allows: ['exec'] | ['fs_read'] = ['exec']): Promise<RunningDaemon> {
  update = offer
  const own: Version = { place: join(home.folder, 'place'), release: 'b'.repeat(64) }
  mkdirSync(join(own.place, 'versions'), { recursive: true })
  return runDaemonAt(home, origin, me, { own, allows })
}
const says = (daemon: RunningDaemon, what: RegExp): Promise<unknown> =>
  until(
    async () => daemon.messages.join('\n'),
    (said) => what.test(said),
  )

test('only release files that match their hash are written, for any offer of a server', async () => {
  const program = 'process.exit(0)'
  const row = (name: string): string => `${hashOf(program)}  ${name}\n`
  answers.set(at(hashOf(program)), program)
  const manifests: [string, RegExp][] = [
    [`${row('uk.mjs')}${row('pty.node')}${row('../../../.profile')}`, /invalid manifest/],
    [`${row('uk.mjs')}${row('pty.node')}${row('uk.mjs')}`, /invalid manifest/],
    [row('uk.mjs'), /invalid manifest/],
    [`${row('uk.mjs')}${row('pty.node')}`.trimEnd(), /invalid manifest/],
    ['x'.repeat(5_000), /larger than announced/],
  ]
  for (const [manifest, why] of manifests) {
    answers.set(at(hashOf(manifest)), manifest)
    await using home = daemonHome()
    await using daemon = await offered(home, { version: '9', sha256: hashOf(manifest), size: 1_000 })
    await says(daemon, why)
    assert.deepEqual(readdirSync(join(home.folder, 'place/versions')), [])
  }
  const fits = `${row('uk.mjs')}${row('pty.node')}`
  answers.set(at(hashOf(fits)), fits)
  for (const [offer, why] of [
    [{ version: '9', sha256: '../../../../etc/passwd', size: 10 }, /has no SHA-256/],
    [{ version: '9', sha256: hashOf(fits), size: 2 ** 40 }, /bytes are too many/],
    // It says fewer bytes than come.
    [{ version: '9', sha256: hashOf(fits), size: program.length + 3 }, /larger than announced/],
  ] as const) {
    await using home = daemonHome()
    await using daemon = await offered(home, offer)
    await says(daemon, why)
    assert.deepEqual(readdirSync(join(home.folder, 'place/versions')), [])
  }
})

test('an endless download is abandoned, and a daemon that stops meanwhile stops', async () => {
  const hash = 'c'.repeat(64)
  const manifest = `${hash}  uk.mjs\n${hash}  pty.node\n`
  answers.set(at(hashOf(manifest)), manifest)
  let sent = 0
  answers.set(at(hash), (response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536))) sent += 65_536
    }
    response.on('drain', more)
    more()
  })
  await using home = daemonHome()
  await using daemon = await offered(home, { version: '9', sha256: hashOf(manifest), size: 1_000_000 })
  await says(daemon, /larger than announced/)
  assert.ok(sent < 20_000_000, `${sent}`)
  answers.set(at(hash), () => {})
  requests.length = 0
  await using another = daemonHome()
  {
    await using _silent = await offered(another, { version: '9', sha256: hashOf(manifest), size: 1_000_000 })
    await until(
      async () => requests,
      (paths) => paths.includes(at(hash)),
    )
  }
  assert.deepEqual(readdirSync(join(another.folder, 'place/versions')), [])
})

test("a server without permission to run commands can't update the daemon", async () => {
  requests.length = 0
  await using home = daemonHome()
  await using daemon = await offered(home, { version: '9', sha256: 'd'.repeat(64), size: 10 }, ['fs_read'])
  await says(daemon, /connected to/)
  assert.deepEqual([requests, existsSync(join(home.folder, 'place/failed.json'))], [[], false])
})

test('updates are on where commands or terminals are allowed, and otherwise as the owner chose', () => {
  assert.deepEqual(
    [
      mayUpdate({ updates: null, allows: ['exec'] }),
      mayUpdate({ updates: null, allows: ['terminal', 'fs_read'] }),
      mayUpdate({ updates: null, allows: ['fs_read', 'fs_write', 'ports', 'inference', 'users'] }),
      mayUpdate({ updates: false, allows: ['exec'] }),
      mayUpdate({ updates: true, allows: [] }),
    ],
    [true, true, false, false, true],
  )
  assert.equal(readManifest(''), null)
})
