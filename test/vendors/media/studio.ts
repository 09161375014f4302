/** A loopback ElevenLabs of which only the lists are asked: models and the voices of one account. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const MODELS = [{ model_id: 'eleven_v3', name: 'Eleven v3' }]
const VOICES = {
  voices: [
    {
      voice_id: 'v1',
      name: 'Ada',
      category: 'cloned',
      labels: { gender: 'female', description: 'calm', use_case: 'narration', language: 'fr' },
      verified_languages: [{ language: 'en', locale: 'en-GB' }],
      preview_url: 'https://previews.example/ada.mp3',
    },
    { voice_id: 'v2', name: 'Bo', labels: {}, preview_url: 'javascript:alert(1)' },
    { name: 'without an id' },
  ],
}

export async function startStudio() {
  const key = 'xi-alice'
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url!)
    const answer = request.url === '/v1/models' ? MODELS : request.url === '/v1/voices' ? VOICES : null
    const status = request.headers['xi-api-key'] !== key ? 401 : answer === null ? 404 : 200
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(status === 200 ? answer : {}))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key,
    /** How often this path was asked for. */
    asked: (path: string): number => asked.filter((one) => one === path).length,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
