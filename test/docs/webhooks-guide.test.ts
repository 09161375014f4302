// Thorough: run by the merge check, or by name.
/** The receivers of the guide to webhooks, as they stand there: they hear what is signed, and refuse what is not. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { needs } from '#test/needs.ts'
import { freePort } from '#test/outside/free-port.ts'
import { temporaryDir } from '#test/program.ts'
import { testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/webhooks.md'), 'utf8')

for (const [language, program, name] of [
  ['js', process.execPath, 'hook.mjs'],
  ['python', 'python3', 'hook.py'],
] as const) {
  const there = needs(language === 'js' || spawnSync('python3', ['--version']).status === 0, 'python3')
  test(`the ${language} receiver accepts a signed delivery and rejects a forged one`, there, async () => {
    await using server = await testServer({ environment: { UK_FETCH_ALLOW: '127.0.0.0/8' } })
    const alice = await server.person('Alice')
    const port = await freePort()
    const endpoint = { name: 'CI', url: `http://127.0.0.1:${port}/hook`, events: ['chat.*'] }
    const { id, secret } = (await alice.post('/webhook-endpoints', endpoint)).body.data
    using folder = temporaryDir('uk-hook-')
    const file = join(folder.path, name)
    writeFileSync(file, new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(guide)![1]!)
    const env = { PATH: process.env.PATH, PORT: String(port), WEBHOOK_SECRET: secret }
    const receiver = spawn(program, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      let heard = ''
      receiver.stdout.on('data', (part: Buffer) => (heard += part.toString()))
      const forged = async () => {
        const headers = { 'webhook-id': 'x', 'webhook-timestamp': String(Math.floor(Date.now() / 1_000)) }
        const signature = { 'webhook-signature': `v1,${Buffer.from('not it').toString('base64')}` }
        const init = { method: 'POST', body: '{"type":"forged"}', headers: { ...headers, ...signature } }
        return fetch(endpoint.url, init).then(
          ({ status }) => status,
          () => null,
        )
      }
      assert.equal(await until(forged, (status) => status !== null), 401)
      const sent = await alice.post(`/webhook-endpoints/${id}/test`)
      assert.equal(sent.status, 200, sent.text)
      await until(
        async () => heard,
        (text) => text.includes('webhook.test'),
      )
      assert.ok(!heard.includes('forged'))
    } finally {
      receiver.kill()
    }
  })
}
