import assert from 'node:assert/strict'
import { test } from 'node:test'
import { imageRequest, speechRequest, transcriptionRequest, videoRequest } from '#test/media/requests.ts'
import { endpointAt, inputOf } from '#test/media/wire.ts'
import type { Shape } from '../../model/offer.ts'
import { leadsUp } from '../../wire/path-name.ts'
import { prepare } from '../../translation/upstream-stream.ts'
import { offerOf } from '../../model/offer-of.test.ts'
import { everyProvider } from '../../providers/every-provider.ts'
import { upstreamOf } from '../../providers/upstream.ts'
import { embeddingWireOf } from '../../wire/embeddings.ts'
import { type DeferredMaker, MediaFault, type MediaRequest, type MediaWire } from '../adapter.ts'
import { adapterOf } from './every-adapter.ts'

/** Each leads to another path of the provider if it is put into one, plain or encoded. */
const ways = ['..', '.', '../account', 'a/../../account', '%2e%2e/account', 'a\\..\\..\\account', 'a/..']

const sound = inputOf(Buffer.from('sound'), 'audio/wav', 'a.wav')
const requests = (name: string): MediaRequest[] => [
  imageRequest({ model: name }),
  imageRequest({ model: `${name}:1` }),
  imageRequest({ model: `owner/model:${name}` }),
  imageRequest({ model: name, images: [inputOf(Buffer.from('x'), 'image/png', 'a.png')] }),
  videoRequest({ model: name, seconds: 4 }),
  speechRequest({ model: name }),
  speechRequest({ model: 'model', voice: name }),
  transcriptionRequest(sound, { model: name }),
]

type Ask = (wire: MediaWire, request: MediaRequest) => Promise<unknown>

/** All endpoints for media: by shape, and as each known provider. */
const endpoints = [
  ...(['gemini', 'elevenlabs', 'deepgram', 'replicate', 'fal', 'black-forest-labs', 'stability'] as const).map(
    (shape) => ({ shape: shape as Shape, preset: null as string | null }),
  ),
  ...everyProvider.map(({ id, shape }) => ({ shape, preset: id as string | null })),
].map(({ shape, preset }) => endpointAt('http://vendor.test/v1', shape, { preset }))

test('no name of a model, voice, or job leads a request of any vendor’s adapter to another path', async () => {
  let requestCount = 0
  for (const endpoint of endpoints) {
    const paths: string[] = []
    const wire: MediaWire = {
      signal: new AbortController().signal,
      async ask({ path }) {
        paths.push(path)
        throw new MediaFault('not_found', 'nothing here')
      },
      async *download() {},
    }
    const adapter = adapterOf(endpoint)
    for (const way of ways) {
      for (const request of requests(way)) {
        const maker = adapter[request.kind] as { how: string; run?: Ask; submit?: Ask } | undefined
        await (maker?.run ?? maker?.submit)?.call(maker, wire, request).catch((fault: unknown) => {
          assert.ok(fault instanceof MediaFault, `${endpoint.shape} ${request.kind}: ${String(fault)}`)
        })
      }
      for (const maker of Object.values(adapter).filter(
        (one): one is DeferredMaker<never> => typeof one === 'object' && 'poll' in one,
      )) {
        const job = { kind: 'image', id: way, name: way }
        await maker.poll(wire, job).catch(() => {})
        await maker.cancel?.(wire, job).catch(() => {})
      }
    }
    requestCount += paths.length
    assert.deepEqual(paths.filter(leadsUp), [], `${endpoint.preset ?? endpoint.shape} was asked for these paths`)
  }
  assert.ok(requestCount > 100, String(requestCount))
})

test('no model name leads a request for text or vectors, in any cloud’s transport, to another path', async () => {
  const canonical = (model: string) => ({ model, messages: [{ role: 'user' as const, content: [] }] })
  for (const model of ['..', '.']) {
    for (const endpoint of [
      { shape: 'gemini' as const },
      { shape: 'anthropic-messages' as const, preset: 'bedrock' },
    ]) {
      const offer = offerOf({ upstreamModel: model, endpoint })
      assert.throws(() => prepare(offer, canonical(model)), /isn’t a valid name of a model/, endpoint.shape)
    }
    assert.throws(() => embeddingWireOf('gemini')!.path(model), /isn’t a valid name of a model/)
  }
  const clouds = [
    ['azure', 'openai-chat', 'https://a.openai.azure.com/openai', { 'x-uk-api-version': '2025-01-01' }],
    ['vertex', 'anthropic-messages', 'https://aiplatform.googleapis.com/v1/projects/p/locations/global', {}],
  ] as const
  for (const [preset, shape, baseUrl, headers] of clouds) {
    const { transport, origin, base } = upstreamOf(endpointAt(baseUrl, shape, { preset, headers }))
    assert.ok(transport, preset)
    const send = { origin, path: `${base}/chat/completions`, method: 'POST', headers: [], body: Buffer.from('{}') }
    await assert.rejects(
      async () => transport.wrap(send as never, { model: '..', stream: true }, null as never),
      /isn’t a valid name of a model/,
      preset,
    )
  }
})
