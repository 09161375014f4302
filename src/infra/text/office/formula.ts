import { type Node, attribute, child, childrenNamed, childrenOf, textIn } from './package.ts'

/** An Office formula (ECMA-376, part 1, 22.1) on one line: `x^2`, `(a+b)/2`, `√(x)`, `∑_(i=1)^n i`. */
export function formulaOf(node: Node): string {
  const of = (name: string): string => {
    const element = child(node, name)
    return element === undefined ? '' : formulaOf(element)
  }
  const sign = (properties: string, name: string, otherwise: string): string => {
    const element = child(node, properties, name)
    return element === undefined ? otherwise : (attribute(element, 'val') ?? '')
  }
  const lower = (): string => (of('sub') === '' ? '' : `_${group(of('sub'))}`)
  const upper = (): string => (of('sup') === '' ? '' : `^${group(of('sup'))}`)
  switch (node.name) {
    case 't':
      return textIn(node)
    case 'f':
      return `${group(of('num'))}/${group(of('den'))}`
    case 'sSup':
    case 'sSub':
    case 'sSubSup':
      return `${group(of('e'))}${lower()}${upper()}`
    case 'sPre':
      return `${lower()}${upper()}${of('e')}`
    case 'rad':
      return `${of('deg')}√${group(of('e'))}`
    case 'nary':
      return `${sign('naryPr', 'chr', '∫')}${lower()}${upper()} ${of('e')}`
    case 'limLow':
      return `${of('e')}_${group(of('lim'))}`
    case 'limUpp':
      return `${of('e')}^${group(of('lim'))}`
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

const group = (text: string): string => (/^[\p{L}\p{M}\p{N}.]*$/u.test(text) ? text : `(${text})`)
