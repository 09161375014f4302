import ipaddr from 'ipaddr.js'

type Ip = ipaddr.IPv4 | ipaddr.IPv6

/** A permitted network, or a hostname with its port. */
type AllowRule = { range: [Ip, number]; port: number | null } | { host: string; port: number }

export interface AddressPolicy {
  /**
   * Whether a connection is allowed. `host` is from the URL, `address` its resolution. Public addresses always are;
   * private, local, and reserved ones only if listed.
   */
  permits(host: string, address: string, port: number): boolean
}

export function addressPolicy(lines: readonly string[]): AddressPolicy {
  const rules = lines.map(readLine)
  return {
    permits(host, address, port) {
      const ip = parseIp(address)
      if (ip === null) return false
      if (isPublic(ip)) return true
      const name = host.toLowerCase()
      return rules.some((line) => {
        if (line.port !== null && line.port !== port) return false
        return 'host' in line ? line.host === name : line.range[0].kind() === ip.kind() && ip.match(line.range)
      })
    },
  }
}

function readLine(line: string): AllowRule {
  const [, bracketedHost, bare, port] = /^(?:\[([^\]]+)\]|([^:]+|[^:]*(?::[^:]*){2,}))(?::(\d{1,5}))?$/.exec(line) ?? []
  const words = bracketedHost ?? bare
  if (words !== undefined && (port === undefined || Number(port) <= 65_535)) {
    const range = readRange(words)
    if (range) return { range, port: port === undefined ? null : Number(port) }
    if (bracketedHost === undefined && port !== undefined && /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i.test(words))
      return { host: words.toLowerCase(), port: Number(port) }
  }
  throw new RangeError(`"${line}" must be host:port or CIDR[:port], such as gpu.local:8000 or 10.0.0.0/8:11434`)
}

function readRange(words: string): [Ip, number] | null {
  if (ipaddr.IPv4.isValidCIDRFourPartDecimal(words) || ipaddr.IPv6.isValidCIDR(words)) return ipaddr.parseCIDR(words)
  if (!ipaddr.IPv4.isValidFourPartDecimal(words) && !ipaddr.IPv6.isValid(words)) return null
  const ip = ipaddr.process(words)
  return [ip, ip.kind() === 'ipv4' ? 32 : 128]
}

/** Null if invalid. IPv4-mapped IPv6 (`::ffff:10.0.0.1`) becomes IPv4. */
function parseIp(address: string): Ip | null {
  return ipaddr.isValid(address) ? ipaddr.process(address) : null
}

/** Globally routable unicast. Everything else, including reserved and tunneled ranges, must be listed. */
function isPublic(ip: Ip): boolean {
  if (ip.kind() === 'ipv4') return ip.range() === 'unicast'
  const { parts } = ip as ipaddr.IPv6
  // 64:ff9b::/96 (NAT64, RFC 6052) embeds an IPv4 address in the last 32 bits.
  if (ip.range() === 'rfc6052')
    return isPublic(new ipaddr.IPv4([parts[6]! >> 8, parts[6]! & 255, parts[7]! >> 8, parts[7]! & 255]))
  // Only 2000::/3 is global unicast (RFC 4291, 2.4); the library also reports unknown ranges as unicast.
  return ip.range() === 'unicast' && parts[0]! >> 13 === 1
}
