import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { temporaryDir } from '#test/program.ts'
import { addonFolder } from './addons.ts'

const PATH = process.env.PATH
afterEach(() => void (process.env.PATH = PATH))
/** A platform other than this machine's. */
const other = process.platform === 'darwin' ? 'linux-arm64' : 'darwin-arm64'
const name = `@lydell/node-pty-${other}`

async function tarballOf(files: Record<string, string>): Promise<Buffer> {
  const writer = pack()
  for (const [path, text] of Object.entries(files)) writer.entry({ name: path }, text)
  writer.finalize()
  return gzipSync(Buffer.concat(await Array.fromAsync(writer as AsyncIterable<Buffer>)))
}

/** A fake `npm` with this tarball, and a lock file that names it. */
function around(folder: string, tarball: Buffer, lockedTarball: Buffer = tarball) {
  writeFileSync(join(folder, 'tarball'), tarball)
  writeFileSync(
    join(folder, 'npm'),
    `#!/bin/sh\necho "$*" >> '${folder}/asked'\n[ "$1 $2" = 'pack ${name}@9.9.9' ] && cp '${folder}/tarball' ./brought.tgz\n`,
    { mode: 0o755 },
  )
  const integrity = `sha512-${createHash('sha512').update(lockedTarball).digest('base64')}`
  const lock = { packages: { [`node_modules/${name}`]: { version: '9.9.9', integrity } } }
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
  process.env.PATH = `${folder}:${PATH}`
  return { root: folder, place: join(folder, 'addons'), bring: true }
}

test('another platform’s addon is downloaded once, and only its files are kept', async () => {
  using folder = temporaryDir('addons-')
  const tarball = await tarballOf({
    'package/package.json': '{"scripts":{"install":"evil"}}',
    'package/pty.node': 'native',
    'package/spawn-helper': 'helper',
    'package/../../../evil': 'evil',
  })
  const parts = around(folder.path, tarball)
  assert.equal(await addonFolder(other, { ...parts, bring: false }), null)
  const [place, again] = await Promise.all([addonFolder(other, parts), addonFolder(other, parts)])
  assert.equal(place, again)
  assert.deepEqual(readdirSync(place!).toSorted(), ['pty.node', 'spawn-helper'])
  assert.equal(readFileSync(join(place!, 'pty.node'), 'utf8'), 'native')
  assert.equal(statSync(join(place!, 'spawn-helper')).mode & 0o111, 0o111)
  assert.deepEqual(readdirSync(parts.place), [`${other}-9.9.9`])
  const calls = readFileSync(join(folder.path, 'asked'), 'utf8')
  assert.equal(await addonFolder(other, parts), place)
  assert.equal(readFileSync(join(folder.path, 'asked'), 'utf8'), calls)
  assert.match(calls, /--ignore-scripts/)
})

test('wrong hashes and npm failures leave nothing behind', async () => {
  using folder = temporaryDir('addons-')
  const tarball = await tarballOf({ 'package/pty.node': 'native' })
  const parts = around(folder.path, tarball, Buffer.from('another'))
  await assert.rejects(addonFolder(other, parts), /npm brought another .* than the lock file names/)
  assert.deepEqual(readdirSync(parts.place), [])
  writeFileSync(join(folder.path, 'npm'), '#!/bin/sh\necho "npm error network" >&2\nexit 1\n')
  await assert.rejects(addonFolder(other, parts), /9\.9\.9 could not be brought: npm error network/)
  assert.deepEqual(readdirSync(parts.place), [])
  writeFileSync(join(folder.path, 'package-lock.json'), '{"packages":{}}')
  await assert.rejects(addonFolder(other, parts), /the lock file does not name/)
  assert.equal(existsSync(join(folder.path, 'evil')), false)
})
