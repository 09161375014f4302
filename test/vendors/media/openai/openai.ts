// OpenAI's images, audio, and video on loopback, in addition to the loopback OpenAI.
//
// Sources: openai 7.55.0 types (images, audio, videos); openai-openapi f85dbe2 (speech.audio.*, VideoResource); issue
// trackers for 413, `moderation_blocked`, and mime types.
//
// Unknown, so not played or only guessed:
// - the words and codes for most limits of a model (size, quality, n, compression, fidelity, expired or unready videos)
// - the order of events for several images in one stream; how a media stream reports an error; tokens of input images;
//   the tokens of audio; the status of moderated speech or transcripts (none is scripted here)
// - edits as JSON, variations (retired), custom voices, remixes, edits, extensions, and characters of videos: 404
import type { Answer } from '../../delivery/deliver.ts'
import { entryOf, OpenAI, openAIManners, openAIModels } from '../../openai/openai.ts'
import { serve, type Call } from '../../server.ts'
import type { Options } from '../../vendor.ts'
import { mediaVendor, type MediaVendor } from '../jobs/jobs.ts'
import { startLinks, type Links } from '../jobs/links.ts'
import { change, generate } from './images.ts'
import { mediaModels, type MediaModel } from './models.ts'
import { transcription, translation } from './rules.ts'
import { speak } from './speech.ts'
import { transcribe, translate } from './transcriptions.ts'
import { Videos } from './videos.ts'

/** Its base URL is `<origin>/v1`. Links of dall-e-3 are at `files`; videos at the vendor itself. */
export async function openaiMedia(options: Options<MediaModel> = {}): Promise<MediaVendor> {
  const { models = mediaModels, otherwise, key = 'sk-loopback-openai', keys } = options
  const links = await startLinks()
  const shop = new OpenAI(openAIModels, key, { key, keys })
  const media = new Media(models, links)
  const vendor = await serve({
    ...openAIManners(shop),
    otherwise,
    answer: async (call) => shop.admit(call) ?? (await media.answer(call)) ?? shop.answer(call),
  })
  const expire = () => {
    links.expire()
    media.videos.expire()
  }
  return mediaVendor(vendor, { jobs: media.videos.jobs.list, files: links.vendor, expire })
}

class Media {
  readonly models: MediaModel[]
  readonly links: Links
  readonly videos = new Videos()

  constructor(models: MediaModel[], links: Links) {
    this.models = models
    this.links = links
  }

  async answer(call: Call): Promise<Answer | undefined> {
    const drawing = { models: this.models.filter((model) => model.makes === 'image'), links: this.links }
    const hearing = this.models.filter((model) => model.makes === 'transcription')
    switch (`${call.method} ${call.path}`) {
      case 'GET /v1/models':
        return { status: 200, body: { object: 'list', data: [...openAIModels, ...this.models].map(entryOf) } }
      case 'POST /v1/images/generations':
        return await generate(call, drawing)
      case 'POST /v1/images/edits':
        return await change(call, drawing)
      case 'POST /v1/audio/speech':
        return speak(
          call,
          this.models.filter((model) => model.makes === 'speech'),
        )
      case 'POST /v1/audio/transcriptions':
        return transcribe(call, hearing, transcription)
      case 'POST /v1/audio/translations':
        return translate(call, hearing, translation)
      default:
        return await this.videos.answer(call)
    }
  }
}
