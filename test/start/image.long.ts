/**
 * The Dockerfile, built and run. The images that it names cannot be fetched everywhere: a Debian of the same release is made of
 * Debian's own packages, and this Node put on it. Everything else is as it stands there.
 */
import assert from 'node:assert/strict'
import { type SpawnSyncReturns, execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { podmanHere } from '../computers/podman.ts'
import { needs } from '../needs.ts'
import { signUp } from '../server.ts'
import { until } from '../until.ts'

const root = join(import.meta.dirname, '../..')
const origin = 'http://127.0.0.1:45242'
const [, release] = /^ARG BASE_IMAGE=docker\.io\/library\/debian:(\w+)-slim$/m.exec(
  readFileSync(join(root, 'Dockerfile'), 'utf8'),
)!
/** How this machine reaches its registries: mounted while the image is built, and in none of its layers. */
const REACH = ['/etc/npmrc', '/usr/etc/npmrc', process.env.NODE_EXTRA_CA_CERTS ?? ''].filter(existsSync)
const debianHere = (): boolean => spawnSync('mmdebstrap', ['--version']).status === 0

test(
  'the Dockerfile builds an image that runs without root, is healthy, keeps its data and can be backed up',
  needs(podmanHere() && debianHere(), 'podman, runc and mmdebstrap'),
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'uk-image-'))
    const settings = join(folder, 'containers.conf')
    writeFileSync(settings, '[engine]\nruntime="runc"\ncgroup_manager="cgroupfs"\nevents_logger="file"\n')
    const at = ['--root', join(folder, 'root'), '--runroot', join(folder, 'run'), '--tmpdir', join(folder, 'tmp')]
    const call = (driver: readonly string[], words: readonly string[]): SpawnSyncReturns<string> =>
      spawnSync('podman', [...at, ...driver, ...words], {
        encoding: 'utf8',
        maxBuffer: 1 << 28,
        env: { ...process.env, CONTAINERS_CONF: settings },
      })
    const driver = DRIVERS.find((each) => call(each, ['info']).status === 0)!
    const tried = (...words: string[]): SpawnSyncReturns<string> => call(driver, words)
    const podman = (...words: string[]): string => {
      const { status, stdout, stderr } = tried(...words)
      assert.equal(status, 0, `podman ${words.join(' ')}\n${stdout.slice(-2_000)}\n${stderr.slice(-4_000)}`)
      return stdout.trim()
    }
    const size = (name: string): number => JSON.parse(podman('image', 'inspect', name))[0].Size / 1e6
    let began = performance.now()
    const seconds = (): number => Math.round((performance.now() - began) / 100) / 10
    try {
      const debian = join(folder, 'debian.tar')
      execFileSync('mmdebstrap', ['--variant=minbase', '--quiet', release!, debian], {
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      podman('import', debian, 'debian:test')
      rmSync(debian)
      withNode(folder, podman)

      began = performance.now()
      // Health checks are a part of Docker's own format.
      const build = 'build --format docker --network host --isolation chroot -t ukiyo'.split(' ')
      build.push('--build-arg', 'BUILD_IMAGE=node:test', '--build-arg', 'BASE_IMAGE=debian:test')
      for (const path of REACH) build.push('-v', `${path}:${path}:ro`)
      podman(...build, root)
      const built = seconds()
      const [image] = JSON.parse(podman('inspect', '--type', 'image', 'ukiyo'))
      assert.equal(image.Config.User, '10001:10001')
      assert.deepEqual(Object.keys(image.Config.ExposedPorts), ['4242/tcp'])
      assert.deepEqual(Object.keys(image.Config.Volumes), ['/data'])
      assert.equal((image.Healthcheck ?? image.HealthCheck).Test[0], 'CMD')
      const over = size('ukiyo') - size('debian:test')
      assert.ok(over < MAX_MB, `${over} MB over Debian`)

      const run = 'run -d --name ukiyo --network host -v kept:/data --cap-drop ALL'.split(' ')
      run.push('--security-opt', 'no-new-privileges', '-e', 'UK_PORT=45242', '-e', 'UK_SIM=on')
      // Podman's own are above what a container of this machine may ask for, where it is one itself.
      run.push('--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=1024:1024', 'ukiyo')
      const started = async (): Promise<number> => {
        began = performance.now()
        podman(...run)
        await until(
          async () => fetch(`${origin}/readyz`).then(({ status }) => status, String),
          (status) => status === 200,
        )
        return seconds()
      }
      const first = await started()
      assert.equal(tried('healthcheck', 'run', 'ukiyo').status, 0, 'it says itself that it is well')
      const inside = (...words: string[]): string => podman('exec', 'ukiyo', ...words)
      const ada = await signUp(origin, 'Ada', async () => inside('cat', '/data/setup-token'))
      const key = await ada.key()
      const asked = { model: 'sim/echo', messages: [{ role: 'user', content: 'a first answer' }] }
      const said = await key.post('/compat-a/v1/chat/completions', asked)
      assert.match(said.body.choices[0].message.content, /a first answer/)
      // What the image was thinned by is missed by nobody: the app, the guides, pictures, sound, the program for computers.
      assert.match((await key.get('/app')).text, /<script type="module"/, 'the app was built into it')
      assert.equal((await key.get('/docs')).status, 200)
      for (const [path, body] of MEDIA) {
        const { status, text } = await key.post(path, body)
        assert.equal(status, 200, text)
      }
      const program = await key.get('/install/linux-x64')
      assert.equal(program.status, 200, program.text)
      assert.match(inside('sh', '-c', 'touch /opt/ukiyo/x 2>/dev/null && echo written || echo refused'), /refused$/)
      assert.doesNotMatch(inside('ls', '/data'), /^postgres-/m, 'PostgreSQL runs from where it lies')
      assert.match(inside('uk', 'backup', '--to', '/data/backups', '--json'), /"rows":\d+/)

      // Another container on the same volume goes on; SIGTERM ends one in time.
      const stopped = (): number => {
        began = performance.now()
        podman('stop', '--time', '60', 'ukiyo')
        assert.equal(podman('inspect', '--format', '{{.State.ExitCode}}', 'ukiyo'), '0')
        return seconds()
      }
      const stop = stopped()
      assert.ok(stop < 15, `${stop} s until it had ended`)
      podman('rm', 'ukiyo')
      const again = await started()
      assert.equal((await key.get('/me')).body.data.email, ada.email)
      assert.match(inside('ls', '/data/backups'), /\S/)
      stopped()
      t.diagnostic(
        `seconds (build ${built}, first start ${first}, next start ${again}, stop ${stop}), MB over Debian ${Math.round(over)}`,
      )
    } finally {
      tried('rm', '-af', '--time', '0')
      // What lies over one another is mounted as long as it is there.
      tried('rmi', '-af')
      rmSync(folder, { recursive: true, force: true })
    }
  },
)

/** Far above what it takes, and below what it took with everything that npm brings. */
const MAX_MB = 450

/** The first that this machine's kernel and disk can do. `vfs` copies every layer whole. */
const DRIVERS: readonly (readonly string[])[] = [
  ['--storage-driver', 'overlay'],
  ['--storage-driver', 'overlay', '--storage-opt', 'overlay.mount_program=/usr/bin/fuse-overlayfs'],
  ['--storage-driver', 'vfs'],
]

const MEDIA: readonly [path: string, body: object][] = [
  ['/inference/images', { model: 'sim/image', prompt: 'a lighthouse at dawn', size: '640x480' }],
  ['/inference/speech', { input: 'Hello.', voice: 'local/slt', format: 'mp3' }],
]

/** `node:test`: this Debian, with this Node and this machine's npm, as the image of Node's own has them. */
function withNode(folder: string, podman: (...words: string[]) => string): void {
  const place = join(folder, 'node')
  const npm = execFileSync('sh', ['-c', 'dirname "$(dirname "$(readlink -f "$(command -v npm)")")"'], {
    encoding: 'utf8',
  }).trim()
  mkdirSync(join(place, 'bin'), { recursive: true })
  mkdirSync(join(place, 'lib/node_modules'), { recursive: true })
  execFileSync('cp', [process.execPath, join(place, 'bin/node')])
  execFileSync('cp', ['-r', npm, join(place, 'lib/node_modules/npm')])
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(place, 'bin/npm'))
  const certificates = process.env.NODE_EXTRA_CA_CERTS
  writeFileSync(
    join(place, 'Dockerfile'),
    `FROM debian:test\n${certificates ? `ENV NODE_EXTRA_CA_CERTS=${certificates}\n` : ''}COPY bin /usr/local/bin\nCOPY lib /usr/local/lib\n`,
  )
  podman('build', '--format', 'docker', '--isolation', 'chroot', '-t', 'node:test', place)
  rmSync(place, { recursive: true })
}
