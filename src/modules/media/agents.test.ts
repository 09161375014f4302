import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, say, script } from '#test/chats/chats.ts'
import { studio } from '#test/media/studio.ts'
import { until } from '#test/until.ts'

const { server, alice } = await studio()

const toolNames = ['inference.images', 'inference.speech', 'inference.transcriptions']
async function chatWith(policy: string, more: object = {}): Promise<string> {
  const tools = [{ name: 'do', policy: 'allow' }, ...toolNames.map((name) => ({ name, policy }))]
  const agent = (await alice.post('/agents', { name: 'Painter', model: 'sim/script', tools, ...more })).body.data.id
  return (await alice.post('/chats', { agent_id: agent })).body.data.id as string
}
const draw = (input: object) =>
  script(
    [call('do', { name: 'inference.images', input: { model: 'sim/image', size: '64x64', ...input } })],
    [say('Done.')],
  )

interface Result {
  type: string
  is_error: boolean
  output: { data?: { files: { name: string; path: string }[] }; error?: { code: string } }
}
async function resultIn(chat: string): Promise<Result> {
  const { data } = (await alice.get(`/chats/${chat}/messages`)).body
  const parts = data.flatMap(({ content }: { content: Result[] }) => content)
  return parts.find(({ type }: Result) => type === 'tool_result')
}

test('an agent with permission generates an image, which is saved in the drive and counted for the agent', async () => {
  const chat = await chatWith('allow')
  const input = { model: 'studio/gpt-image-2', prompt: 'By an agent', size: '1024x1024' }
  const response = await alice.post(`/chats/${chat}/messages`, { content: draw(input) })
  assert.equal(response.status, 200, response.text)
  const { is_error, output } = await resultIn(chat)
  assert.equal(is_error, false, JSON.stringify(output))
  assert.equal(output.data!.files[0]!.path, 'Generated/By an agent.png')
  const { pool } = server.app.engine.postgres
  const [spending] = await until(
    async () =>
      (await pool.query<{ cost_nano: bigint }>(`select cost_nano from calls where model = 'studio/gpt-image-2'`)).rows,
    (rows) => rows.length === 1,
  )
  assert.equal(String(spending!.cost_nano), '40000000')
  // Counted even without a budget.
  const agent = (await alice.get(`/chats/${chat}`)).body.data.agent_id as string
  const { rows } = await pool.query<{ nano: bigint }>('select max(nano) as nano from spends where subject = $1', [
    agent,
  ])
  assert.ok(rows[0]!.nano >= 40_000_000n, String(rows[0]!.nano))
})

test('a tool set to Ask waits for a person, and an agent without permission gets an error', async () => {
  const asking = await chatWith('ask')
  const waits = await alice.post(`/chats/${asking}/messages`, { content: draw({ prompt: 'Asked for' }) })
  assert.equal(waits.status, 200, waits.text)
  const [run] = (await alice.get(`/chats/${asking}/runs`)).body.data
  assert.equal(run.status, 'requires_action')
  const countFiles = async (name: string) =>
    (await alice.get(`/drive/glob?pattern=${encodeURIComponent(`**/${name}*`)}`)).body.data.length as number
  assert.equal(await countFiles('Asked for'), 0)
  const [action] = run.pending_actions
  const answer = await alice.post(`/chats/${asking}/runs/${run.id}/actions`, {
    actions: [{ id: action.id, decision: 'allow' }],
  })
  assert.ok(answer.status < 300, answer.text)
  await until(
    () => countFiles('Asked for'),
    (count) => count === 1,
  )
  const deniedChat = await chatWith('deny')
  await alice.post(`/chats/${deniedChat}/messages`, { content: draw({ prompt: 'Denied' }) })
  assert.equal((await resultIn(deniedChat)).is_error, true)
  assert.equal(await countFiles('Denied'), 0)
})

test('background operations that would outlive a run’s budget are refused', async () => {
  const chat = await chatWith('allow')
  await alice.post(`/chats/${chat}/messages`, { content: draw({ prompt: 'Later', background: true }) })
  const { is_error, output } = await resultIn(chat)
  assert.equal(is_error, true)
  assert.equal(output.error!.code, 'invalid_parameter')
})
