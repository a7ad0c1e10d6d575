from effax.laws.sketch import program as program
