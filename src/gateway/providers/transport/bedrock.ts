import { AwsV4Signer } from 'aws4fetch'
import type { Send } from '#infra/http-client/send.ts'
import type { ProviderEndpoint } from '../../model/offer.ts'
import { anthropicBody, dropped } from './claude-body.ts'
import { type Transport, TransportFailed, named, ENDPOINT_SETTING, headerIn } from './transport.ts'

const VERSION = 'bedrock-2023-05-31'

// Loaded with the first call: what checks the frames is large.
let frames: typeof import('./amazon-event-stream.ts') | null = null

/** Models of other houses than Anthropic are asked by Converse, which is a shape of Bedrock's own. */
export const isConverse = (model: string): boolean => !/claude/i.test(model)

/**
 * Amazon Bedrock. With the shape `anthropic-messages` Claude by InvokeModel and other models by Converse; with
 * `openai-chat` what it serves in OpenAI's shape under `…/openai/v1`.
 * The key is `<access key id>:<secret>[:<session token>]`, with which each request is signed (Signature Version 4), or a
 * Bedrock API key, which is sent as it is. The region stands in the host's name or in the setting `x-uk-region`.
 */
export function bedrockTransport({ apiKey, headers, shape, baseUrl }: ProviderEndpoint, base: string): Transport {
  const settings = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const region = settings.get('x-uk-region') ?? regionOf(baseUrl)
  const allowed = allowedBetas(settings.get('x-uk-betas'))
  const claude = shape === 'anthropic-messages'
  return {
    async wrap(send, { model, stream }) {
      frames ??= await import('./amazon-event-stream.ts')
      const plain = !claude
        ? send
        : isConverse(model)
          ? { ...send, headers: withoutAnthropic(send.headers) }
          : invoke(send, base, model, stream, allowed)
      if (apiKey === null) return plain
      const [accessKeyId = '', secretAccessKey, ...token] = apiKey.split(':')
      if (secretAccessKey === undefined)
        return { ...plain, headers: [...plain.headers, 'authorization', `Bearer ${apiKey}`] }
      if (region === null)
        throw new TransportFailed({
          kind: 'upstream_key',
          message: 'The host of this endpoint doesn’t include an AWS region. Set the header x-uk-region.',
        })
      return sign(plain, { accessKeyId, secretAccessKey, sessionToken: token.join(':'), region })
    },
    ...(claude && {
      unwrap: (handler) => frames!.unframed(handler),
      losses: (json, given) => {
        const { fields, beta } = dropped(json, given['anthropic-beta'], allowed)
        return beta ? [...fields, 'anthropic-beta'] : fields
      },
    }),
  }
}

/** `bedrock-runtime.us-east-1.amazonaws.com`, and the like of other partitions and private endpoints. */
const regionOf = (baseUrl: string): string | null =>
  /(?:^|\.)([a-z]{2}(?:-[a-z]+)+-\d)\.(?:vpce\.)?(?:amazonaws\.com(?:\.cn)?|api\.aws)$/.exec(
    new URL(baseUrl).hostname,
  )?.[1] ?? null

/** Betas that may travel: what the operator names. Unknown ones make Bedrock refuse the request. */
export const allowedBetas = (setting: string | undefined): ReadonlySet<string> =>
  new Set((setting ?? '').split(',').map((one) => one.trim()))

function invoke(send: Send, base: string, model: string, stream: boolean, allowed: ReadonlySet<string>): Send {
  const verb = stream ? 'invoke-with-response-stream' : 'invoke'
  return {
    ...send,
    path: `${base}/model/${named(model)}/${verb}`,
    headers: withoutAnthropic(send.headers),
    body: anthropicBody(String(send.body), VERSION, headerIn(send.headers, 'anthropic-beta'), allowed, false),
  }
}

export function withoutAnthropic(headers: readonly string[]): string[] {
  const kept: string[] = []
  for (let i = 0; i < headers.length; i += 2)
    if (!/^anthropic-/i.test(headers[i]!) && !ENDPOINT_SETTING.test(headers[i]!))
      kept.push(headers[i]!, headers[i + 1]!)
  return kept
}

async function sign(
  send: Send,
  { sessionToken, ...account }: { accessKeyId: string; secretAccessKey: string; sessionToken: string; region: string },
): Promise<Send> {
  const signer = new AwsV4Signer({
    ...account,
    ...(sessionToken !== '' && { sessionToken }),
    service: 'bedrock',
    method: send.method,
    url: send.origin + send.path,
    headers: { 'content-type': 'application/json' },
    ...(send.body !== null && { body: typeof send.body === 'string' ? send.body : new Uint8Array(send.body) }),
  })
  const { headers: signed } = await signer.sign()
  const headers = [...send.headers]
  for (const [name, value] of signed) if (name !== 'content-type' && name !== 'host') headers.push(name, value)
  return { ...send, headers }
}
