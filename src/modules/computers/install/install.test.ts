// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ends, machine, versionsIn } from '#test/computers/installed.ts'
import { temporaryDir } from '#test/program.ts'
import { testServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { tamperingProxy } from '#test/computers/tampering.ts'

const server = await testServer()
after(() => server[Symbol.asyncDispose]())
const alice = await server.person('Alice')
const here = `${process.platform}-${process.arch}`
const hashOf = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')
const raw = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${server.origin}${path}`, { method, headers, redirect: 'manual' })
const execOn = async (id: string, command: string) => {
  const { status, body } = await alice.post(`/computers/${id}/exec`, { command })
  assert.equal(status, 200, JSON.stringify(body))
  return body.data.stdout as string
}

test('`curl … | sh` pairs a new machine and installs Node if it is missing', async () => {
  // A system without Node.
  using bare = temporaryDir('bare-')
  for (const folder of ['/usr/bin', '/bin'])
    for (const name of readdirSync(folder))
      // And without curl, if wget exists, to cover both.
      if (
        !/^(node|npm|npx)/.test(name) &&
        !(name === 'curl' && existsSync('/usr/bin/wget')) &&
        !existsSync(join(bare.path, name))
      )
        symlinkSync(join(folder, name), join(bare.path, name))
  await using box = machine(bare.path)
  const { code, output } = await box.install(server.origin, alice, ['--allow', 'exec,fs_read', '--root', box.home])
  assert.equal(code, 0, output)
  assert.match(output, /Downloading Node from http.*, once/)
  assert.match(output, /Paired with http.* as ".+" \(.+\)/)
  assert.match(output, /is running \(process \d+\) and connected/)
  // The computer is already running, so the output doesn't say how to start it. It shows the full path when `uk` isn't
  // in PATH.
  assert.doesNotMatch(output, /start the daemon/)
  assert.ok(output.includes(`call it as ${join(box.home, '.local/bin/uk')}\n`), output)
  const helped = await Promise.all(
    [['--help'], ['computer'], ['computer', 'run', '-h']].map((words) => box.uk(...words)),
  )
  for (const help of helped)
    assert.deepEqual([help.code, /the program for connected computers/.test(help.output)], [0, true])
  const id = box.computerId()
  const { data } = (await alice.get(`/computers/${id}`)).body
  assert.deepEqual([data.connection, data.allows], ['online', ['exec', 'fs_read']])
  assert.equal(await execOn(id, 'echo "from $HOME"'), `from ${box.home}\n`)
  const status = JSON.parse((await box.uk('computer', 'status', '--json')).output)
  assert.deepEqual([status.computer_id, status.daemon_pid, status.updates], [id, box.pid(), true])
  assert.equal(status.release, hashOf(await (await raw(`/install/${here}`)).text()))
  // The folder is private, and the short name exists.
  assert.equal(statSync(box.place).mode & 0o077, 0)
  assert.ok(existsSync(join(box.home, '.local/bin/uk')))
  assert.deepEqual(versionsIn(box), [box.release()])

  // Installing again keeps the pairing.
  const script = await (await raw('/install')).text()
  const again = await ends('sh', [], { env: box.env, cwd: box.home }, script)
  assert.match(again.output, /This machine is paired already/)
  assert.equal(box.computerId(), id)
  // A token would pair it as another computer, so the script refuses and says how.
  const secondInstall = await box.install(server.origin, alice)
  assert.match(secondInstall.output, /is already paired with .*--replace/s)
  assert.notEqual(secondInstall.code, 0)
})

test('a truncated install script does nothing, wherever it was cut', async () => {
  const script = await (await raw('/install')).text()
  assert.doesNotMatch(script, /@origin@/)
  for (const part of [0.2, 0.5, 0.8, 0.99]) {
    await using box = machine()
    const truncated = script.slice(0, Math.floor(script.length * part))
    await ends('sh', [], { env: { ...box.env, UK_PAIR_TOKEN: 'x' }, cwd: box.home }, truncated)
    assert.equal(existsSync(box.place), false)
  }
})

test('a file with a wrong hash is deleted and never run', async () => {
  await using proxy = await tamperingProxy(server.origin)
  for (const [which, says] of [
    [/\/files\//, /has another SHA-256, and was thrown away/],
    [new RegExp(`/install/${here}$`), /the manifest of .* names|is not whole|could not be downloaded|is no SHA-256/],
  ] as const) {
    await using box = machine()
    proxy.spoil(which)
    const { code, output } = await box.install(proxy.origin, alice)
    assert.equal(code, 1, output)
    assert.match(output, says)
    assert.deepEqual([versionsIn(box), existsSync(join(box.place, 'current'))], [[], false])
    assert.equal(existsSync(box.folder), false)
  }
})

test('release files are public, immutable and support ranges; other paths don’t exist', async () => {
  const manifest = await raw(`/install/${here}`)
  assert.equal(manifest.headers.get('cache-control'), 'no-store')
  const rows = (await manifest.text())
    .trim()
    .split('\n')
    .map((row) => row.split('  '))
  assert.deepEqual(
    rows.map(([, name]) => name),
    ['uk.mjs', 'pty.node'],
  )
  for (const [hash] of rows) {
    const file = await raw(`/install/files/${hash}`)
    assert.equal(hashOf(new Uint8Array(await file.arrayBuffer())), hash)
    assert.equal(file.headers.get('etag'), `"${hash}"`)
    assert.equal(file.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    assert.equal((await raw(`/install/files/${hash}`, { 'if-none-match': `"${hash}"` })).status, 304)
  }
  const [[bundle]] = rows as [[string]]
  const part = await raw(`/install/files/${bundle}`, { range: 'bytes=10-19' })
  assert.deepEqual([part.status, (await part.arrayBuffer()).byteLength], [206, 10])
  assert.equal((await raw('/install', {}, 'HEAD')).status, 200)
  const statusOf = async (path: string, method = 'GET') => (await raw(path, {}, method)).status
  for (const path of [
    '/installer',
    '/install/',
    '/install/files/',
    '/install/files/../../etc/passwd',
    '/install/plan9-mips',
    '/install/linux-x64/x',
    `/install/files/${'0'.repeat(64)}`,
    `/install/files/${bundle}/more`,
  ])
    assert.equal(await statusOf(path), 404, path)
  assert.equal(await statusOf('/install', 'POST'), 405)
  assert.match(
    await (await raw('/install/plan9-mips')).text(),
    /Available: linux-x64, linux-arm64, darwin-arm64, darwin-x64\./,
  )
  // Another process serves the file without having listed it.
  await using twin = await server.twin()
  assert.equal((await fetch(`${twin.origin}/install/files/${bundle}`)).status, 200)
})

test('the script uses the public URL or the request’s host, never an injected one', async () => {
  const askedAs = (host: string): Promise<string> =>
    new Promise((resolve, reject) => {
      request(`${server.origin}/install`, { headers: { host } }, (response) => {
        let text = ''
        response.on('data', (bytes: Buffer) => (text += String(bytes))).on('end', () => resolve(text))
      })
        .on('error', reject)
        .end()
    })
  const origin = (text: string) => /^origin='(.*)'$/m.exec(text)?.[1]
  assert.equal(origin(await askedAs('box.lan:4242')), 'http://box.lan:4242')
  assert.equal(origin(await askedAs("x';touch /tmp/owned;'")), server.origin)
  await using twin = await server.twin({ UK_PUBLIC_URL: 'https://uk.example.com' })
  assert.equal(origin(await (await fetch(`${twin.origin}/install`)).text()), 'https://uk.example.com')
})

test('stalled downloads block neither the server nor each other', async () => {
  const [hash] = (await (await raw(`/install/${here}/node`)).text()).split('  ')
  const leaving = new AbortController()
  const ask = () => fetch(`${server.origin}/install/files/${hash}`, { signal: leaving.signal })
  const answers = await Promise.all(Array.from({ length: 80 }, ask))
  const late = answers.filter(({ status }) => status === 503)
  assert.equal(late.length, 16)
  assert.match(late[0]!.headers.get('retry-after')!, /^\d$/)
  assert.equal((await raw('/healthz')).status, 200)
  await until(
    async () => {
      const { status, body } = await raw(`/install/files/${hash}`)
      await body!.cancel()
      return status
    },
    (status) => status === 200,
  )
  leaving.abort()
})

test('installing from a second server doesn’t replace the first server’s daemon and says what to do', async () => {
  await using proxy = await tamperingProxy(server.origin)
  await using box = machine()
  const firstInstall = await box.install(server.origin, alice)
  assert.equal(firstInstall.code, 0, firstInstall.output)
  const [release, id] = [box.release(), box.computerId()]
  // Another address counts as another server.
  const here = await box.install(proxy.origin, alice)
  assert.equal(here.code, 1)
  assert.match(here.output, /this machine is paired with http.*--replace.*XDG_DATA_HOME and UK_CONFIG_DIR/)
  const elsewhere = { ...box.env, UK_CONFIG_DIR: join(box.home, 'second') }
  const script = await (await fetch(`${proxy.origin}/install`)).text()
  const token = async () => (await alice.post('/computer-pairings', {})).body.data.token as string
  const secondInstall = await ends(
    'sh',
    [],
    { env: { ...elsewhere, UK_PAIR_TOKEN: await token() }, cwd: box.home },
    script,
  )
  assert.equal(secondInstall.code, 1)
  assert.match(
    secondInstall.output,
    /the program in .* comes from http.*, for the daemon of .*\.config\/ukiyo\. .*XDG_DATA_HOME=/,
  )
  // The installed program refuses as well.
  const words = ['computer', 'pair', '--url', proxy.origin]
  const pairAttempt = await ends(join(box.place, 'bin/uk'), words, {
    env: { ...elsewhere, UK_PAIR_TOKEN: await token() },
    cwd: box.home,
  })
  assert.equal(pairAttempt.code, 2, pairAttempt.output)
  assert.match(pairAttempt.output, /was installed from .* so it can't connect to .*\.\n.*XDG_DATA_HOME=/)
  assert.equal(existsSync(join(box.home, 'second/computer.json')), false)
  assert.deepEqual([box.release(), box.computerId(), versionsIn(box)], [release, id, [release]])
  // A second installation has its own folder and computer.
  const own = { ...elsewhere, XDG_DATA_HOME: join(box.home, 'data'), UK_PAIR_TOKEN: await token() }
  const apart = await ends('sh', [], { env: own, cwd: box.home }, script)
  assert.equal(apart.code, 0, apart.output)
  assert.ok(existsSync(join(box.home, 'second/computer.json')))
  assert.equal(await execOn(id, 'echo still'), 'still\n')
})
