import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { freePort } from '#test/outside/free-port.ts'
import { temporaryDir } from '#test/program.ts'
import { type TestServer, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { prepareSetupToken } from './setup.ts'

const body = JSON.stringify({ email: 'first@example.com', password: 'a long password', name: 'First' })

/** A raw sign-up request. Returns its status and code. */
async function signUp(origin: string, headers: readonly string[], version = '1.1', more = ''): Promise<string> {
  const { hostname, port } = new URL(origin)
  const socket = connect(Number(port), hostname)
  const requestBody = more === '' ? body : JSON.stringify({ ...JSON.parse(body), setup_token: more })
  const hostHeaders = headers.some((header) => /^host:/i.test(header)) ? [] : [`Host: 127.0.0.1:${port}`]
  socket.write(
    [
      `POST /v1/auth/sign-up HTTP/${version}`,
      ...hostHeaders,
      'X-UK-CSRF: 1',
      'Content-Type: application/json',
      `Content-Length: ${requestBody.length}`,
      'Connection: close',
      ...headers,
      '',
      requestBody,
    ].join('\r\n'),
  )
  let text = ''
  for await (const part of socket.setEncoding('utf8')) text += part
  return `${text.slice(9, 12)} ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}`.trim()
}

let server: TestServer
before(async () => {
  server = await testServer()
})
after(() => server[Symbol.asyncDispose]())

const telling = [
  'Forwarded: for=203.0.113.9',
  'X-Forwarded-For: 127.0.0.1',
  'X-Forwarded-Host: uk.example.com',
  'X-Forwarded-Proto: https',
  'X-Forwarded-Server: web',
  'x-forwarded-anything: ',
  'X-Real-IP: 127.0.0.1',
  'Via: 1.1 squid',
  'CF-Connecting-IP: 203.0.113.9',
  'cf-ray: 1',
]
for (const header of telling)
  test(`a first sign-up with the header ${header} requires the token`, async () => {
    assert.equal(await signUp(server.origin, [header]), '403 setup_required')
  })

test('an HTTP/1.0 request requires the token, as sent by nginx with a bare proxy_pass', async () => {
  assert.equal(await signUp(server.origin, [], '1.0'), '403 setup_required')
})

for (const [environment, expected] of [
  [{ UK_PUBLIC_URL: 'https://uk.example.com' }, '403 setup_required'],
  [{ UK_TRUSTED_PROXIES: '10.0.0.0/8' }, '403 setup_required'],
  [{ UK_HOST: '0.0.0.0' }, '403 setup_required'],
  [{ UK_PUBLIC_URL: 'http://localhost:8123' }, '201'],
  [{ UK_PUBLIC_URL: 'http://[::1]:8123' }, '201'],
] as const)
  test(`with ${JSON.stringify(environment)} a local first sign-up is ${expected}`, async () => {
    await using other = await testServer({ environment })
    const port = new URL(other.origin).port
    assert.equal(await signUp(`http://127.0.0.1:${port}`, []), expected)
  })

const NGINX = '/usr/sbin/nginx'
for (const [title, lines] of [
  ['a bare proxy_pass', ''],
  ['the Host passed on', 'proxy_set_header Host $host;'],
  ['X-Real-IP over HTTP/1.1', 'proxy_http_version 1.1; proxy_set_header X-Real-IP $remote_addr;'],
] as const)
  test(`behind nginx with ${title} the first sign-up requires the token`, { skip: !existsSync(NGINX) }, async () => {
    using dir = temporaryDir()
    const port = await freePort()
    mkdirSync(join(dir.path, 'logs'))
    const config = join(dir.path, 'nginx.conf')
    writeFileSync(
      config,
      `daemon off; master_process off; pid ${dir.path}/pid; error_log ${dir.path}/logs/error.log; events {}
      http { access_log off; client_body_temp_path ${dir.path}; proxy_temp_path ${dir.path}; fastcgi_temp_path ${dir.path};
        uwsgi_temp_path ${dir.path}; scgi_temp_path ${dir.path};
        server { listen 127.0.0.1:${port}; location / { ${lines} proxy_pass ${server.origin}; } } }`,
    )
    const nginx = spawn(NGINX, ['-p', dir.path, '-c', config], { stdio: 'ignore' })
    const exit = new Promise((resolve) => nginx.on('exit', resolve))
    try {
      await until(
        () => fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null),
        (answer) => answer !== null,
      )
      assert.equal(await signUp(`http://127.0.0.1:${port}`, []), '403 setup_required')
    } finally {
      nginx.kill()
      await exit
    }
  })

test('the setup token works once, its file is deleted in every data directory, and it’s invalid afterwards', async () => {
  await using one = await testServer({ environment: { UK_PUBLIC_URL: 'https://uk.example.com' } })
  using elsewhere = temporaryDir()
  await using two = await one.twin({ UK_DATA_DIR: elsewhere.path })
  const { db } = one.app.engine.postgres
  const token = (await prepareSetupToken(db, one.database.dataDir))!
  assert.equal(await prepareSetupToken(db, elsewhere.path), token)
  const files = [one.database.dataDir, elsewhere.path].map((path) => join(path, 'setup-token'))
  assert.deepEqual(files.map(existsSync), [true, true])
  for (const other of [token.toUpperCase(), `${token} `, `${token}\n`, `${token}=`, ` ${token}`])
    assert.equal(await signUp(two.origin, [], '1.1', other), '403 setup_required', JSON.stringify(other))
  assert.equal(await signUp(two.origin, [], '1.1', token), '201')
  assert.equal(existsSync(files[1]!), false, 'where the sign-up came in it is gone with the answer')
  await until(
    async () => existsSync(files[0]!),
    (there) => !there,
  )
  const { rows } = await one.app.engine.postgres.pool.query(`select 1 from instance where name = 'setup_token'`)
  assert.deepEqual(rows, [])
  assert.equal(await prepareSetupToken(db, elsewhere.path), null)
})
