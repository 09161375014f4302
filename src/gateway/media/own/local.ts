import { Busy } from '#packages/fair-queue/turns.ts'
import type { Pcm } from '#packages/media-tools/facts.ts'
import type { Media } from '#packages/media-tools/media.ts'
import { ProgramFailed } from '#packages/media-tools/programs.ts'
import { SLOWEST_SPEED } from '#packages/media-tools/speech/espeak.ts'
import type { SpeechEngineName } from '#packages/media-tools/speech/local-speech.ts'
import { NoSuchVoice, type SpeakOptions } from '#packages/media-tools/speech/voice.ts'
import { refuse } from '#core/errors.ts'
import type { MediaAdapter } from '../adapter.ts'
import { charactersOf, lossesIn } from '../request-fields.ts'

const USUAL_SPEED = 1

/** `local/flite`, and `local/espeak-ng` if installed. `account`: whose queue slots they use. */
export const localMedia = ({ speech }: Pick<Media, 'speech'>, account: string): MediaAdapter => ({
  speech: {
    how: 'immediate',
    async run(wire, request) {
      const { model, input, voice, language, speed } = request
      const engine = speech.engines.find((name) => name === model) ?? notHere(model)
      const options = { voice, language, speed: speed ?? USUAL_SPEED, account, signal: wire.signal }
      const { sampleRate, bytes } = await speak(speech, engine, input, options)
      const units = { characters: charactersOf(input) }
      return {
        kind: 'sound',
        sound: { format: 'pcm', sampleRate, bytes, units: () => units },
        losses: [
          ...lossesIn(request, 'instructions'),
          ...(engine === 'espeak-ng' && options.speed < SLOWEST_SPEED ? ['speed'] : []),
        ],
      }
    },
  },
})

async function speak(
  speech: Media['speech'],
  engine: SpeechEngineName,
  text: string,
  options: SpeakOptions,
): Promise<Pcm> {
  try {
    return await speech.speak(engine, text, options)
  } catch (error) {
    if (error instanceof NoSuchVoice) return refuse('invalid_parameter', { param: error.param, message: error.message })
    if (error instanceof Busy)
      return refuse('unavailable', {
        message: 'The server is generating too much speech right now. Try again in a few seconds.',
      })
    if (error instanceof ProgramFailed) return refuse('provider_error', { message: error.message })
    throw error
  }
}

function notHere(model: string): never {
  if (model === 'espeak-ng')
    return refuse('no_route', {
      param: 'model',
      message:
        '`local/espeak-ng` isn’t installed on the server. Install it (on Debian: apt-get install espeak-ng) and restart the server.',
    })
  return refuse('no_route', {
    param: 'model',
    message: `\`local/${model}\` isn’t available on this server. It has \`local/flite\`, and \`local/espeak-ng\` if installed.`,
  })
}
