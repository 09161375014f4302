// Thorough: run by the merge check, or by name.
/** compose.yaml and Dockerfile as far as no image has to be fetched: what they say, and the same programs in the same environment. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { parse } from 'yaml'
import { settings } from '../../src/settings.ts'
import { databaseUrl, testDatabase } from '../database.ts'
import { upload } from '../drive/drive.ts'
import { needs } from '../needs.ts'
import { startProgram, temporaryDir } from '../program.ts'
import { broker, hasBroker } from '../realtime/broker.ts'
import { caller } from '../server.ts'
import { startS3 } from '../vendors/s3/s3.ts'

const root = join(import.meta.dirname, '../..')
const docs = readFileSync(join(root, 'docs/operating/containers.md'), 'utf8')
const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8')

interface ComposeService {
  environment?: Record<string, string>
  volumes?: string[]
  depends_on?: Record<string, { condition: string }>
  healthcheck?: object
  command?: string[]
}

/** The file with the secrets of the `.env` that the guide's own lines write. https://docs.docker.com/reference/compose-file/interpolation/ */
function composed(): { services: Record<string, ComposeService>; volumes: Record<string, unknown> } {
  using dir = temporaryDir()
  const [, block] = /<!-- compose -->\s+```sh\n([^]*?)```/.exec(docs)!
  const lines = block!.split('\n').filter((line) => line.includes('.env'))
  execFileSync('sh', ['-euc', lines.join('\n')], { cwd: dir.path })
  const env = new Map(
    readFileSync(join(dir.path, '.env'), 'utf8')
      .trim()
      .split('\n')
      .map((line): [string, string] => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
  const text = readFileSync(join(root, 'compose.yaml'), 'utf8').replaceAll(
    /\$\{(\w+)(?::([-?])([^}]*))?\}/g,
    (_, name: string, kind: string | undefined, word: string) => {
      const value = env.get(name) ?? (kind === '-' ? word : undefined)
      assert.ok(value, `the guide's lines give ${name}`)
      return value
    },
  )
  return parse(text)
}

test('compose.yaml uses existing settings, services and volumes, and secrets that the guide creates', () => {
  const { services, volumes } = composed()
  assert.deepEqual(Object.keys(services).toSorted(), ['bucket', 'nats', 'postgres', 's3', 'ukiyo'])
  const known = new Set(settings.map(({ name }) => name))
  for (const name of Object.keys(services.ukiyo!.environment!))
    assert.ok(known.has(name) || name.startsWith('AWS_'), `${name} is a setting`)
  for (const [, name] of dockerfile.matchAll(/\b(UK_\w+)=/g)) assert.ok(known.has(name!), `${name} is a setting`)
  for (const [name, { depends_on = {}, volumes: mounts = [] }] of Object.entries(services)) {
    for (const [other, { condition }] of Object.entries(depends_on)) {
      assert.ok(services[other], `${name} waits for ${other}`)
      if (condition === 'service_healthy') assert.ok(services[other].healthcheck, `${other} says whether it is well`)
    }
    for (const mount of mounts) assert.ok(Object.hasOwn(volumes, mount.split(':')[0]!), `${mount} of ${name}`)
  }
})

test(
  'a server with the environment of compose.yaml accepts a sign-up, stores a file in the bucket and is backed up',
  needs(hasBroker('nats'), 'nats-server'),
  async () => {
    await using database = await testDatabase()
    await using s3 = await startS3('ukiyo')
    await using nats = await broker('nats')
    const { services } = composed()
    const given = services.ukiyo!.environment!
    const [, healthy] = /^HEALTHCHECK [^]*?CMD (\[.*\])$/m.exec(dockerfile)!
    const [, command] = /^CMD (\[.*\])$/m.exec(dockerfile)!
    assert.deepEqual(JSON.parse(command!).slice(1), ['/opt/ukiyo/bin/run', '/opt/ukiyo/src/main.ts'], 'as here')
    assert.equal(new URL(given.UK_BUS!).port, '4222')
    assert.match(given.DATABASE_URL!, /^postgresql:\/\/ukiyo:[0-9a-f]{64}@postgres:5432\/ukiyo$/)
    const environment = {
      ...given,
      UK_HOST: '0.0.0.0',
      UK_DATA_DIR: database.dataDir,
      // Where they are here.
      DATABASE_URL: databaseUrl(database),
      UK_BUS: nats.url,
      UK_S3_ENDPOINT: s3.origin,
      AWS_ACCESS_KEY_ID: s3.accessKeyId,
      AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
      AWS_REGION: s3.region,
    }
    await using program = startProgram(environment)
    const { port } = new URL(await program.ready)
    const origin = `http://127.0.0.1:${port}`
    const check = (at: string): Promise<number | null> => {
      const [node = '', ...words] = JSON.parse(healthy!) as string[]
      assert.equal(node, 'node')
      const child = spawn(process.execPath, words, { env: { UK_PORT: at }, stdio: 'ignore' })
      return new Promise((resolve) => child.once('exit', resolve))
    }
    assert.deepEqual(await Promise.all([check(port), check('1')]), [0, 1])
    const setup_token = readFileSync(join(database.dataDir, 'setup-token'), 'utf8').trim()
    const person = { email: 'ada@example.com', password: 'a long password', name: 'Ada' }
    const forwarded = { 'x-uk-csrf': '1' }
    const nobody = caller(origin, {})
    assert.equal((await nobody.post('/auth/sign-up', person, forwarded)).status, 403, 'not without the token')
    const signed = await nobody.post('/auth/sign-up', { ...person, setup_token }, forwarded)
    assert.equal(signed.status, 201, signed.text)
    const [cookie = ''] = signed.headers.getSetCookie()
    assert.match(cookie, /^__Host-uk_session=.*Secure/)
    const ada = caller(origin, { cookie: cookie.split(';')[0]!, 'x-uk-csrf': '1' })
    const workspace_id = (await ada.get('/me')).body.data.personal_workspace_id
    const made = await upload(ada, { workspace_id }, Buffer.alloc(100_000, 'x'), 'a.txt')
    assert.equal(made.status, 201, made.text)
    assert.ok(
      [...s3.objects.keys()].some((key) => key.startsWith('files/')),
      [...s3.objects.keys()].join(),
    )
    const backup = spawn('sh', [join(root, 'bin/uk'), 'backup', '--to', '-'], {
      env: { PATH: process.env.PATH, HOME: database.dataDir, ...environment },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    assert.ok((await buffer(backup.stdout)).includes('manifest.json'))
  },
)
