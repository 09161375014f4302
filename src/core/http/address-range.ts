import { isIP } from 'node:net'

/** `10.1.2.3`, `10.0.0.0/8`, `fd00::/8` */
export function isAddressRange(words: string): boolean {
  const [address = '', bits, ...rest] = words.split('/')
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)]!
  return most > 0 && rest.length === 0 && (bits === undefined || (/^\d+$/.test(bits) && Number(bits) <= most))
}
