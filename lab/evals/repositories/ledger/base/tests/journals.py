HOUSEHOLD = """\
2024-01-31 Rent
    expenses:rent      850.00
    assets:bank

2024-02-03 Groceries  ; weekly
    expenses:food:market   1,042.50
    expenses:food             7.50
    assets:bank          -1,050.00
"""
