import ipaddr from 'ipaddr.js'

/** The network counted as one: an IPv4 address alone, of IPv6 the /64 that one customer has at the least (RFC 6177). */
export function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return ip
  const address = ipaddr.process(ip)
  if (address instanceof ipaddr.IPv4) return address.toString()
  return `${address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}
