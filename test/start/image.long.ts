/**
 * The Dockerfile, built and run: what it stands on is made of this machine's files, for the images that it names cannot be
 * fetched everywhere. Everything else is as it stands there.
 */
import assert from 'node:assert/strict'
import { type SpawnSyncReturns, execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { podmanHere } from '../computers/podman.ts'
import { needs } from '../needs.ts'
import { until } from '../until.ts'

const root = join(import.meta.dirname, '../..')

/** What `bin/run` and npm ask of a system, beside a C library. */
const PROGRAMS = 'sh env node ln rm ls du cut wc readlink sleep uname dirname mkdir chown kill'.split(' ')
const PATHS = [
  '/etc/npmrc',
  '/usr/etc/npmrc',
  '/etc/ssl/certs',
  '/usr/share/ca-certificates',
  '/usr/lib/node_modules/npm',
]

test(
  'the Dockerfile makes an image that runs as nobody in particular, is well, keeps its data and can be backed up',
  needs(podmanHere(), 'podman and runc'),
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'uk-image-'))
    const settings = join(folder, 'containers.conf')
    writeFileSync(settings, '[engine]\nruntime="runc"\ncgroup_manager="cgroupfs"\nevents_logger="file"\n')
    const at = ['--root', join(folder, 'root'), '--runroot', join(folder, 'run'), '--tmpdir', join(folder, 'tmp')]
    const tried = (...words: string[]): SpawnSyncReturns<string> =>
      spawnSync('podman', [...at, '--storage-driver', 'vfs', ...words], {
        encoding: 'utf8',
        maxBuffer: 1 << 28,
        env: { ...process.env, CONTAINERS_CONF: settings },
      })
    const podman = (...words: string[]): string => {
      const { status, stdout, stderr } = tried(...words)
      assert.equal(status, 0, `podman ${words.join(' ')}\n${stdout.slice(-2_000)}\n${stderr.slice(-4_000)}`)
      return stdout.trim()
    }
    try {
      const base = join(folder, 'base.tar')
      execFileSync(
        'tar',
        ['-C', '/', '-chf', base, ...filesOf(PROGRAMS), ...PATHS.filter(existsSync).map((path) => path.slice(1))],
        {
          stdio: ['ignore', 'ignore', 'ignore'],
        },
      )
      execFileSync('tar', ['-C', shim(folder), '-rf', base, 'usr/bin/npm'])
      podman('import', base, 'base:test')
      rmSync(base)
      const began = performance.now()
      // Health checks are a part of Docker's own format.
      podman(
        'build',
        '--format',
        'docker',
        '--network',
        'host',
        '--isolation',
        'chroot',
        '--build-arg',
        'BUILD_IMAGE=base:test',
        '--build-arg',
        'BASE_IMAGE=base:test',
        '-t',
        'ukiyo',
        root,
      )
      const [image] = JSON.parse(podman('inspect', '--type', 'image', 'ukiyo'))
      assert.equal(image.Config.User, '10001:10001')
      assert.deepEqual(Object.keys(image.Config.ExposedPorts), ['4242/tcp'])
      assert.deepEqual(Object.keys(image.Config.Volumes), ['/data'])
      assert.equal(image.HealthCheck.Test[0], 'CMD')
      const run = [
        'run',
        '-d',
        '--network',
        'host',
        '--cap-drop',
        'ALL',
        '--security-opt',
        'no-new-privileges',
        '-v',
        'kept:/data',
        '-e',
        'UK_PORT=45242',
        '-e',
        'UK_SIM=on',
      ]
      const first = podman(...run, '--name', 'ukiyo', 'ukiyo')
      const well = (): Promise<number | null> =>
        until(
          async () => tried('healthcheck', 'run', 'ukiyo').status,
          (status) => status === 0,
        )
      assert.ok(first)
      await well()
      const inside = (...words: string[]): string => podman('exec', 'ukiyo', ...words)
      const setup_token = inside('sh', '-c', 'read token </data/setup-token; echo $token')
      const origin = 'http://127.0.0.1:45242'
      const signed = await fetch(`${origin}/v1/auth/sign-up`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-uk-csrf': '1' },
        body: JSON.stringify({ email: 'ada@example.com', password: 'a long password', name: 'Ada', setup_token }),
      })
      assert.equal(signed.status, 201, await signed.text())
      assert.match(await (await fetch(`${origin}/app`)).text(), /<script type="module"/, 'the app was built into it')
      assert.match(inside('sh', '-c', 'echo $$ ; : >/opt/ukiyo/x && echo written || echo refused'), /refused$/)
      assert.match(podman('exec', 'ukiyo', 'uk', 'backup', '--to', '/data/backups', '--json'), /"rows":\d+/)
      // Another container on the same volume goes on; SIGTERM ends one in time.
      podman('stop', '--time', '60', 'ukiyo')
      assert.equal(podman('inspect', '--format', '{{.State.ExitCode}}', 'ukiyo'), '0')
      podman('rm', 'ukiyo')
      podman(...run, '--name', 'ukiyo', 'ukiyo')
      await well()
      const again = await fetch(`${origin}/v1/auth/sign-in`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-uk-csrf': '1' },
        body: JSON.stringify({ email: 'ada@example.com', password: 'a long password' }),
      })
      assert.equal(again.status, 200)
      podman('stop', '--time', '60', 'ukiyo')
      const size =
        JSON.parse(podman('image', 'inspect', 'ukiyo'))[0].Size -
        JSON.parse(podman('image', 'inspect', 'base:test'))[0].Size
      t.diagnostic(
        `seconds ${Math.round((performance.now() - began) / 1000)}, MB over its base ${Math.round(size / 1e6)}`,
      )
    } finally {
      tried('rm', '-af', '--time', '0')
      tried('rmi', '-af')
      rmSync(folder, { recursive: true, force: true })
    }
  },
)

/** npm by its own program: what lies in a PATH is a link to it, and links are followed here. */
function shim(folder: string): string {
  const place = join(folder, 'shim')
  mkdirSync(join(place, 'usr/bin'), { recursive: true })
  writeFileSync(join(place, 'usr/bin/npm'), '#!/bin/sh\nexec node /usr/lib/node_modules/npm/bin/npm-cli.js "$@"\n', {
    mode: 0o755,
  })
  return place
}

/** These programs of the machine and what they link to, below the root. */
function filesOf(programs: readonly string[]): string[] {
  const found = programs.map((name) =>
    execFileSync('sh', ['-c', `command -v ${name}`], {
      encoding: 'utf8',
      env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    }).trim(),
  )
  const paths = found.map((path) => (path.startsWith('/') ? path : `/bin/${path}`))
  const libraries = paths.flatMap((path) => {
    const { stdout } = spawnSync('ldd', [path], { encoding: 'utf8' })
    return [...stdout.matchAll(/(?:=> |^\s*)(\/\S+)/gm)].map(([, library]) => library!)
  })
  // What comes with a C library, also where it is looked for only when it is needed.
  const beside = dirname(libraries.find((path) => /\/libc\.so/.test(path))!)
  const more = readdirSync(beside).filter((name) =>
    /^lib(rt|pthread|dl|m|util|resolv|nss_files|nss_dns|gcc_s|stdc\+\+)\.so\.\d+$/.test(name),
  )
  return [
    ...new Set([...paths, '/bin/sh', '/usr/bin/env', ...libraries, ...more.map((name) => join(beside, name))]),
  ].map((path) => path.slice(1))
}
