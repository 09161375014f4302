import type { Bytes } from '#core/answers.ts'
import type { Mount } from '#core/http/exchange.ts'
import { allowCors } from '../cors.ts'
import type { Origins } from '../origin.ts'
import { sendBytes } from './send-bytes.ts'

interface BytesAsked {
  method: string
  url: string
  host: string | undefined
  ip: string
}

/** Unauthenticated byte URLs: public, or carrying their own token. `open` throws or returns the bytes. */
export const bytesMount = (
  prefix: string,
  origins: Pick<Origins, 'clientIp'>,
  open: (request: BytesAsked) => Promise<Bytes>,
): Mount => ({
  prefix,
  async handle(request, response) {
    allowCors(request, response)
    const disconnect = new AbortController()
    response.once('close', () => disconnect.abort())
    const { method, url, headers } = request
    const bytesRequest = { method: method!, url: url!, host: headers.host, ip: origins.clientIp(request) }
    await sendBytes(request, response, await open(bytesRequest), disconnect.signal, `address ${bytesRequest.ip}`)
  },
})
