import { AwsV4Signer } from 'aws4fetch'
import type { Send } from '#packages/http-client/send.ts'
import type { ProviderEndpoint } from '../../model/offer.ts'
import { anthropicBody, droppedFields } from './claude-body.ts'
import { type Transport, TransportFailed, modelInPath, ENDPOINT_SETTING, headerIn } from './transport.ts'

const VERSION = 'bedrock-2023-05-31'

// Loaded on first use: the frame decoder is large.
let frames: typeof import('./amazon-event-stream.ts') | null = null

export const isConverse = (model: string): boolean => !/claude/i.test(model)

/**
 * The shape `anthropic-messages` uses InvokeModel for Claude and Converse for other models; `openai-chat` uses
 * `…/openai/v1`. The key is `<access key id>:<secret>[:<session token>]`, which signs each request (Signature Version
 * 4), or a Bedrock API key. The region is part of the host name or the setting `x-uk-region`.
 */
export function bedrockTransport({ apiKey, headers, shape, baseUrl }: ProviderEndpoint, base: string): Transport {
  const settings = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const region = settings.get('x-uk-region') ?? regionOf(baseUrl)
  const betas = allowedBetas(settings.get('x-uk-betas'))
  const claude = shape === 'anthropic-messages'
  return {
    async wrap(send, { model, stream }) {
      frames ??= await import('./amazon-event-stream.ts')
      const plain = !claude
        ? send
        : isConverse(model)
          ? { ...send, headers: withoutAnthropic(send.headers) }
          : invoke(send, base, model, stream, betas)
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
      unwrap: (handler) => frames!.unframingHandler(handler),
      losses: (json, clientHeaders) => {
        const { fields, beta } = droppedFields(json, clientHeaders['anthropic-beta'], betas)
        return beta ? [...fields, 'anthropic-beta'] : fields
      },
    }),
  }
}

/** `bedrock-runtime.us-east-1.amazonaws.com`, and equivalents of other partitions and private endpoints. */
const regionOf = (baseUrl: string): string | null =>
  /(?:^|\.)([a-z]{2}(?:-[a-z]+)+-\d)\.(?:vpce\.)?(?:amazonaws\.com(?:\.cn)?|api\.aws)$/.exec(
    new URL(baseUrl).hostname,
  )?.[1] ?? null

/** Configured by the operator. Bedrock rejects requests with unknown betas. */
export const allowedBetas = (setting: string | undefined): ReadonlySet<string> =>
  new Set((setting ?? '').split(',').map((one) => one.trim()))

function invoke(send: Send, base: string, model: string, stream: boolean, betas: ReadonlySet<string>): Send {
  const verb = stream ? 'invoke-with-response-stream' : 'invoke'
  return {
    ...send,
    path: `${base}/model/${modelInPath(model)}/${verb}`,
    headers: withoutAnthropic(send.headers),
    body: anthropicBody(String(send.body), VERSION, headerIn(send.headers, 'anthropic-beta'), betas, false),
  }
}

export function withoutAnthropic(headers: readonly string[]): string[] {
  const keptHeaders: string[] = []
  for (let i = 0; i < headers.length; i += 2)
    if (!/^anthropic-/i.test(headers[i]!) && !ENDPOINT_SETTING.test(headers[i]!))
      keptHeaders.push(headers[i]!, headers[i + 1]!)
  return keptHeaders
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
  const { headers: signedHeaders } = await signer.sign()
  const headers = [...send.headers]
  for (const [name, value] of signedHeaders) if (name !== 'content-type' && name !== 'host') headers.push(name, value)
  return { ...send, headers }
}
