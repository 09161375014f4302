import assert from 'node:assert/strict'
import { test } from 'node:test'
import { studio } from '#test/media/studio.ts'
import { ended } from '#test/operations/ended.ts'
import { testServer } from '#test/server.ts'
import { picture } from '#test/vendors/media/made/picture.ts'

const { alice, bob, vendor } = await studio()

test('a simulated image is saved in Generated, named after its prompt, with its metadata', async () => {
  const answer = await alice.post('/inference/images', { model: 'sim/image', prompt: 'A red boat', size: '320x200' })
  assert.equal(answer.status, 200, answer.text)
  const { data } = answer.body
  assert.deepEqual(
    [data.kind, data.model, data.provider, data.simulated, data.losses, data.cost_usd, data.usage.images],
    ['image', 'sim/image', 'sim', true, [], 0, 1],
  )
  const [file] = data.files
  assert.deepEqual(
    [file.name, file.path, file.width, file.height, file.mime_type, file.duration_seconds, file.revised_prompt],
    ['A red boat.png', 'Generated/A red boat.png', 320, 200, 'image/png', null, null],
  )
  assert.match(answer.headers.get('x-uk-route')!, /^provider=sim; seed=\d+$/)
  const bytes = Buffer.from(await (await fetch(file.url)).arrayBuffer())
  assert.deepEqual([bytes.length, bytes.toString('latin1', 1, 4)], [file.size_bytes, 'PNG'])
  const again = await alice.post('/inference/images', { model: 'sim/image', prompt: 'A red boat', size: '320x200' })
  const [second] = again.body.data.files
  assert.deepEqual([second.name, second.parent_id, second.sha256], ['A red boat (2).png', file.parent_id, file.sha256])
  assert.equal((await bob.get(`/drive/files/${file.id}/metadata`)).status, 404)
})

test('provider images are stored unchanged, billed per image, and part of the usage', async () => {
  const answer = await alice.post('/inference/images', {
    model: 'studio/gpt-image-2',
    prompt: 'Two cats',
    n: 2,
    size: '1024x1024',
    name: 'cats',
    seed: 7,
  })
  assert.equal(answer.status, 200, answer.text)
  const { data } = answer.body
  assert.deepEqual(
    data.files.map(({ name }: { name: string }) => name),
    ['cats.png', 'cats (2).png'],
  )
  assert.deepEqual([data.cost_usd, data.usage.images, data.simulated], [0.08, 2, false])
  assert.deepEqual(data.losses, ['seed'])
  assert.match(answer.headers.get('x-uk-losses')!, /seed/)
  const { body } = await alice.get('/ai-gateway/usage')
  const row = JSON.stringify(body)
  assert.match(row, /studio\/gpt-image-2/)
})

test('a background request is an operation with the response as its result and the file as its content', async () => {
  const operationResponse = await alice.post('/inference/images', {
    model: 'sim/image',
    prompt: 'Later',
    background: true,
  })
  assert.deepEqual([operationResponse.status, operationResponse.body.data.kind], [202, 'inference.images'])
  const operation = await ended(alice, operationResponse.body.data.id)
  assert.equal(operation.status, 'succeeded', JSON.stringify(operation.error))
  const [file] = operation.result.files
  assert.deepEqual([file.name, operation.resource], ['Later.png', { type: 'file', id: file.id }])
  const content = await alice.get(`/operations/${operation.id}/content`)
  assert.deepEqual([content.status, content.headers.get('location')], [302, `/v1/drive/files/${file.id}`])
})

test('the provider’s revised prompt is returned with the image', async () => {
  const answer = await alice.post('/inference/images', { model: 'studio/dall-e-3', prompt: 'A king' })
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.body.data.files[0].revised_prompt, 'A king, in detail')
})

test('image edits accept drive files and uploads, and send them without location data', async () => {
  const { bytes } = await picture('512x512')
  const source = { kind: 'base64', media_type: 'text/plain', data: bytes.toString('base64') }
  const answer = await alice.post('/inference/images', {
    model: 'studio/gpt-image-2',
    prompt: 'Make it blue',
    images: [source],
  })
  assert.equal(answer.status, 200, answer.text)
  const editRequest = vendor.requests.findLast(({ method }) => method === 'POST')!
  assert.equal(editRequest.path, '/v1/images/edits')
  const file = answer.body.data.files[0]
  const more = await alice.post('/inference/images', {
    model: 'studio/gpt-image-2',
    prompt: 'Make it green',
    images: [{ kind: 'file', file_id: file.id }],
  })
  assert.equal(more.status, 200, more.text)
  const wrong = await alice.post('/inference/images', {
    model: 'studio/gpt-image-2',
    prompt: 'Make it red',
    images: [{ kind: 'base64', media_type: 'image/png', data: Buffer.from('<html>').toString('base64') }],
  })
  assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'images.0'])
  const stranger = await bob.post('/inference/images', {
    model: 'sim/image',
    prompt: 'x',
    images: [{ kind: 'file', file_id: file.id }],
  })
  assert.deepEqual([stranger.status, stranger.body.error.param], [404, 'images.0.file_id'])
})

test('models of another kind, unknown models and models not yet installed get different errors', async () => {
  const ask = async (model: string, path = 'images', more: object = { prompt: 'x' }) => {
    const { status, body } = await alice.post(`/inference/${path}`, { model, ...more })
    return [status, body.error.code ?? body.error.type, body.error.param]
  }
  assert.deepEqual(await ask('sim/echo'), [400, 'unsupported_model', 'model'])
  assert.deepEqual(await ask('sim/video'), [400, 'unsupported_model', 'model'])
  assert.deepEqual(await ask('studio/nothing'), [404, 'not_found', 'model'])
  assert.deepEqual(
    await ask('local/whisper', 'transcriptions', { audio: { kind: 'base64', media_type: 'audio/wav', data: 'AAAA' } }),
    [503, 'no_route', 'model'],
  )
})

for (const [defect, words] of [
  ['empty', /empty|without bytes/],
  ['web page', /web page/],
  ['json', /JSON/],
  ['cut', /damaged/],
] as const)
  test(`a broken image (${defect}) isn’t kept but is billed, because the provider reports success`, async () => {
    vendor.script({ media: { spoiled: defect } })
    const answer = await alice.post('/inference/images', { model: 'studio/gpt-image-2', prompt: `spoiled ${defect}` })
    assert.deepEqual([answer.status, answer.body.error.code], [502, 'bad_provider_answer'], answer.text)
    assert.match(answer.body.error.message, words)
    const globResponse = await alice.get(`/drive/glob?pattern=${encodeURIComponent('**/spoiled*')}`)
    assert.deepEqual(globResponse.body.data, [])
  })

test('a prompt refused by a provider’s moderation costs nothing and isn’t sent to another provider', async () => {
  vendor.script({ media: { moderated: true } })
  const answer = await alice.post('/inference/images', { model: 'studio/gpt-image-2', prompt: 'bad' })
  assert.deepEqual([answer.status, answer.body.error.code], [400, 'content_refused'], answer.text)
})

test('images are sent as named form parts after the other fields', async () => {
  const first = await picture('512x512', { words: 'first' })
  const second = await picture('512x512', { words: 'second' })
  const mask = await picture('512x512', { transparent: true })
  const form = async (parts: [string, Uint8Array | string][]) => {
    const data = new FormData()
    for (const [name, value] of parts)
      if (typeof value === 'string') data.append(name, value)
      else data.append(name, new Blob([Uint8Array.from(value)], { type: 'text/plain' }), `${name}.txt`)
    const whole = new Response(data)
    return alice.request('POST', '/inference/images', new Uint8Array(await whole.arrayBuffer()), {
      'content-type': whole.headers.get('content-type')!,
    })
  }
  const before = vendor.requests.length
  const answer = await form([
    ['model', 'studio/gpt-image-2'],
    ['prompt', 'Both in one'],
    ['n', '1'],
    ['images', first.bytes],
    ['images', second.bytes],
    ['mask', mask.bytes],
  ])
  assert.equal(answer.status, 200, answer.text)
  const [request] = vendor.requests.slice(before)
  assert.equal(request!.path, '/v1/images/edits')
  const requestBody = request!.body
  for (const { bytes } of [first, second, mask]) assert.ok(requestBody.includes(bytes), 'the pixels go as they came')
  const late = await form([
    ['model', 'studio/gpt-image-2'],
    ['images', first.bytes],
    ['prompt', 'Too late'],
  ])
  assert.deepEqual([late.status, late.body.error.param], [400, 'prompt'], late.text)
  const two = await form([
    ['model', 'studio/gpt-image-2'],
    ['prompt', 'Two masks'],
    ['images', first.bytes],
    ['mask', mask.bytes],
    ['mask', mask.bytes],
  ])
  assert.deepEqual([two.status, two.body.error.param], [400, 'mask'], two.text)
})

test('an image URL is fetched only from public addresses', async () => {
  const ask = (url: string, by = alice) =>
    by.post('/inference/images', { model: 'sim/image', prompt: 'From there', images: [{ kind: 'url', url }] })
  const nowhere = await ask(`${vendor.origin}/v1/nothing.png`)
  assert.deepEqual([nowhere.status, nowhere.body.error.param], [400, 'images.0.url'], nowhere.text)
  await using strictServer = await testServer()
  const carol = await strictServer.person('Carol')
  const refusal = await ask(`https://127.0.0.1:${new URL(vendor.origin).port}/x.png`, carol)
  assert.deepEqual([refusal.status, refusal.body.error.param], [400, 'images.0.url'], refusal.text)
  assert.match(refusal.body.error.message, /private or reserved/)
})
