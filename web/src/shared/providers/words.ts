import type { Endpoint, Provider } from '../api.ts'
import type { Tone } from '../../ui/page.tsx'

export const sources: Record<Provider['source'], string> = {
  account: 'your key',
  workspace: 'workspace key',
  instance: 'this instance',
  environment: 'this instance',
  discovered: 'found on this machine',
  computer: 'connected computer',
  simulated: 'simulated',
  server: 'this server',
}

export const statuses: Record<Provider['status'], { words: string; tone: Tone }> = {
  untested: { words: 'untested', tone: 'plain' },
  working: { words: 'working', tone: 'good' },
  failing: { words: 'failing', tone: 'bad' },
  needs_key: { words: 'needs a key', tone: 'bad' },
  unreadable_key: { words: 'key not readable', tone: 'bad' },
  disabled: { words: 'turned off', tone: 'plain' },
}

export const billings: Record<Provider['billing'], { words: string; tone: Tone; about: string }> = {
  byok: { words: 'own key', tone: 'ai', about: 'The provider bills you; the cost is recorded here.' },
  credits: { words: 'credits', tone: 'warn', about: 'Charged to your balance here.' },
  free: { words: 'free', tone: 'good', about: 'No cost.' },
}

export const shapes = [
  ['openai-chat', 'OpenAI chat completions'],
  ['openai-responses', 'OpenAI responses'],
  ['anthropic-messages', 'Anthropic messages'],
  ['gemini', 'Google Gemini'],
  ['ollama', 'Ollama'],
] as const satisfies readonly (readonly [Endpoint['shape'], string])[]
export const mediaShapes = [
  ['elevenlabs', 'ElevenLabs'],
  ['deepgram', 'Deepgram'],
  ['replicate', 'Replicate'],
  ['fal', 'fal'],
  ['black-forest-labs', 'Black Forest Labs'],
  ['stability', 'Stability AI'],
] as const satisfies readonly (readonly [Endpoint['shape'], string])[]
export const sayShape = (shape: Endpoint['shape']): string =>
  [...shapes, ...mediaShapes].find(([id]) => id === shape)?.[1] ?? shape
