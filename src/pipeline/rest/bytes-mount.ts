import type { Bytes } from '#core/answers.ts'
import type { Mount } from '#core/exchange.ts'
import { allowCors } from '../cors.ts'
import type { Origins } from '../origin.ts'
import { sendBytes } from './send-bytes.ts'

/** An anonymous request for bytes. */
interface BytesAsked {
  method: string
  url: string
  host: string | undefined
  ip: string
}

/** Addresses that carry their own right to be read, or are everybody's. `open` refuses, or answers the bytes. */
export const bytesMount = (
  prefix: string,
  origins: Pick<Origins, 'clientIp'>,
  open: (asked: BytesAsked) => Promise<Bytes>,
): Mount => ({
  prefix,
  async handle(request, response) {
    allowCors(request, response)
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const { method, url, headers } = request
    const asked = { method: method!, url: url!, host: headers.host, ip: origins.clientIp(request) }
    await sendBytes(request, response, await open(asked), gone.signal, `address ${asked.ip}`)
  },
})
