import { after } from 'node:test'
import { type Caller, type Person, type TestServer, testServer, type TestOptions } from '#test/server.ts'
import { openaiMedia } from '#test/vendors/media/openai/openai.ts'
import type { MediaVendor } from '#test/vendors/media/jobs/jobs.ts'

/** A server that may reach vendors on this machine. */
export const studioServer = (more: TestOptions = {}): Promise<TestServer> =>
  testServer({
    ...more,
    environment: { UK_UPSTREAM_ALLOW: '127.0.0.0/8', UK_FETCH_ALLOW: '127.0.0.0/8', ...more.environment },
  })

/** A server with alice, bob and the loopback OpenAI as alice's endpoint, for all tests of a file; they go when it has ended. */
export async function studio(): Promise<{ server: TestServer; alice: Person; bob: Person; vendor: MediaVendor }> {
  const stack = new AsyncDisposableStack()
  after(() => stack.disposeAsync())
  const server = stack.use(await studioServer())
  const alice = await server.person('Alice')
  return { server, alice, bob: await server.person('Bob'), vendor: stack.use(await openaiFor(alice)) }
}

export const models = [
  { id: 'gpt-image-2', kind: 'image', pricing: { image: 40_000 } },
  { id: 'dall-e-3', kind: 'image', pricing: { image: 80_000 } },
  { id: 'sora-2', kind: 'video', pricing: { video_second: 100_000 } },
  { id: 'tts-1', kind: 'speech', pricing: { character: 15 } },
  { id: 'gpt-4o-mini-tts', kind: 'speech', pricing: { character: 15 } },
  { id: 'whisper-1', kind: 'transcription', pricing: { audio_second: 100 } },
]

/** The loopback OpenAI as an endpoint of this person's: prices are USD per million units. */
export async function openaiFor(person: Person, slug = 'studio'): Promise<MediaVendor> {
  const vendor = await openaiMedia()
  await addEndpoint(person, slug, vendor)
  return vendor
}

export async function addEndpoint(
  person: Caller,
  slug: string,
  vendor: Pick<MediaVendor, 'origin' | 'key'>,
  more: object = {},
): Promise<string> {
  const made = await person.post('/ai-gateway/provider-endpoints', {
    name: slug,
    slug,
    shape: 'openai-chat',
    base_url: `${vendor.origin}/v1`,
    api_key: vendor.key,
    models,
    test: false,
    ...more,
  })
  if (made.status !== 201) throw new Error(`an endpoint ${slug}: ${made.status} ${made.text}`)
  return made.body.data.id as string
}
