import { type Node, attribute, child, childrenNamed, childrenOf, textIn } from './package.ts'

/** A formula of Office (ECMA-376, part 1, 22.1) in one line: `x^2`, `(a+b)/2`, `√(x)`, `∑_(i=1)^n i`. */
export function formulaOf(node: Node): string {
  const of = (name: string): string => {
    const found = child(node, name)
    return found === undefined ? '' : formulaOf(found)
  }
  const sign = (properties: string, name: string, otherwise: string): string => {
    const found = child(node, properties, name)
    return found === undefined ? otherwise : (attribute(found, 'val') ?? '')
  }
  const lower = (): string => (of('sub') === '' ? '' : `_${grouped(of('sub'))}`)
  const upper = (): string => (of('sup') === '' ? '' : `^${grouped(of('sup'))}`)
  switch (node.name) {
    case 't':
      return textIn(node)
    case 'f':
      return `${grouped(of('num'))}/${grouped(of('den'))}`
    case 'sSup':
    case 'sSub':
    case 'sSubSup':
      return `${grouped(of('e'))}${lower()}${upper()}`
    case 'sPre':
      return `${lower()}${upper()}${of('e')}`
    case 'rad':
      return `${of('deg')}√${grouped(of('e'))}`
    case 'nary':
      return `${sign('naryPr', 'chr', '∫')}${lower()}${upper()} ${of('e')}`
    case 'limLow':
      return `${of('e')}_${grouped(of('lim'))}`
    case 'limUpp':
      return `${of('e')}^${grouped(of('lim'))}`
    case 'func':
      return `${of('fName')} ${of('e')}`
    case 'acc':
      return `${of('e')}${sign('accPr', 'chr', '\u0302')}`
    case 'd': {
      const inside = childrenNamed(node, 'e')
        .map(formulaOf)
        .join(sign('dPr', 'sepChr', '|'))
      return `${sign('dPr', 'begChr', '(')}${inside}${sign('dPr', 'endChr', ')')}`
    }
    case 'm':
      return `[${childrenNamed(node, 'mr')
        .map((row) => childrenNamed(row, 'e').map(formulaOf).join(', '))
        .join('; ')}]`
    case 'eqArr':
      return childrenNamed(node, 'e').map(formulaOf).join('; ')
    default:
      return node.name.endsWith('Pr') ? '' : childrenOf(node).map(formulaOf).join('')
  }
}

const grouped = (text: string): string => (/^[\p{L}\p{M}\p{N}.]*$/u.test(text) ? text : `(${text})`)
